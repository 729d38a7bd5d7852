// Virtual functions that are called through thunks: by a second base, by a virtual base, with another type of result; in a namespace of the
// name that the compiler is given.
#include <cstdio>
#define APART __attribute__((noipa))
namespace SPACE {
volatile long total;
struct First { int a; virtual ~First() {} virtual long one(int n) { return n; } };
struct Second {
    int b;
    virtual ~Second() {}
    virtual long two(int n) { return n; }
    virtual Second *self(int) { return this; }
};
struct Shared { int c; virtual ~Shared() {} virtual long three(int n) { return n; } };
struct All : First, Second, virtual Shared { APART long one(int n) override { total += n; return n + total; } APART long two(int n) override { total -= n; return n + total + b; } APART long three(int n) override { total += 2 * n; return n * 3 + total + c; } APART All *self(int n) override { total += n; return this; } };
struct Lines : First, Second {
    APART long one(int n) override {
        total += n;
        return n + total;
    }
    APART long two(int n) override {
        total -= n;
        return n + total + b;
    }
};
struct Deleted : First, Second {
    ~Deleted() override {
        total += 1;
        total += 2;
    }
};
APART First *first_base() { return new Deleted; }
APART Second *second_base() { return new Deleted; }
APART void drop(First *first, Second *second) {
    delete first;
    delete second;
}
APART long calls(First *first, Second *second, int n) { return first->one(n) + second->two(n); }
APART long calls_shared(Shared *shared, int n) { return shared->three(n); }
APART long calls_self(Second *second, int n) { return second->self(n)->b; }
int begin() {
    All all;
    Lines lines;
    all.b = lines.b = 3;
    all.c = 4;
    long sum = 0;
    for (int at = 0; at < 100; at++) {
        sum += calls(&all, &all, at) + calls(&lines, &lines, at) + calls_shared(&all, at) + calls_self(&all, at);
        drop(first_base(), second_base());
    }
    return sum == 0 ? 1 : 7;
}
}
