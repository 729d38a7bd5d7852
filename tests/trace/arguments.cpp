// Functions as compilers split and join them: with parts that are seldom run, and with others inlined at their beginning.
#include <cstdio>
#include <stdexcept>
#include <string>
volatile long total;
#define APART __attribute__((noipa))
static inline __attribute__((always_inline)) long inner(long last, int first) {
    if (last < first) total += 7;
    return last - first;
}
struct Guard {
    long *place;
    ~Guard() { *place += 1; }
};
extern "C" {
APART long plain(int n, long k) { total += n; return n + k + total; }
APART long thrower(int n, long k) {
    total += n;
    if (n > 100000) throw std::runtime_error("too many");
    return n + k + total;
}
APART long with_text(int n, long k) {
    std::string text(static_cast<size_t>(n), 'x');
    if (n > 100000) throw 1;
    return static_cast<long>(text.size()) + k + total;
}
APART long guarded(int n, long k) {
    long count = 0;
    Guard guard{&count};
    total += thrower(n, k);
    return count + k;
}
APART long unlikely(int n, long k) {
    if (__builtin_expect(n < 0, 0)) {
        std::fprintf(stderr, "%d\n", n);
        std::abort();
    }
    return n * k + total;
}
APART long begins_inlined(int n, long k) { return inner(k, n) + total; }
APART long begins_inlined_and_throws(int n, long k) {
    long found = inner(k, n);
    if (found == -1) throw std::runtime_error("none");
    return found + total;
}
}
struct Base {
    virtual ~Base() {}
    APART virtual long method(int n, long k) { return n + k + total; }
};
template <class T> APART long generic(T n, long k) {
    if (n > 100000) throw n;
    return n + k + total;
}
int main() {
    Base base;
    long sum = 0;
    for (int at = 0; at < 100; at++) {
        long k = 2L * at + 1000;
        sum += plain(at, k) + with_text(at, k) + guarded(at, k) + unlikely(at, k) + begins_inlined(at, k);
        sum += begins_inlined_and_throws(at, k) + base.method(at, k) + generic<int>(at, k);
    }
    return sum == 0 ? 1 : 7;
}
