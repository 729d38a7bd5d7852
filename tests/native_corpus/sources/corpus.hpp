// Functions of every kind that compilers treat in their own way. Each counts its calls: what a breakpoint on it has
// to count too.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define CORPUS_FUNCTIONS(X)                  \
    X(animal_constructor, corpus::Animal::Animal) \
    X(dog_constructor, corpus::Dog::Dog)     \
    X(dog_destructor, corpus::Dog::~Dog)     \
    X(bark, corpus::Dog::bark)               \
    X(legs, corpus::Animal::legs)            \
    X(age, corpus::Dog::age)                 \
    X(clamp_sum, corpus::clamp_sum)          \
    X(twice, corpus::twice)                  \
    X(use, corpus::use)                      \
    X(total, corpus::total)                  \
    X(walk, corpus::walk)                    \
    X(walk_one, corpus::walk_one)            \
    X(walk_two, corpus::walk_two)            \
    X(walk_three, corpus::walk_three)        \
    X(largest, corpus::largest)              \
    X(guarded, corpus::guarded)              \
    X(hidden, corpus::hidden)                \
    X(lookup, corpus::lookup)                \
    X(fail_above, corpus::fail_above)        \
    X(try_it, corpus::try_it)                \
    X(kind_of, corpus::kind_of)              \
    X(factorial, corpus::factorial)          \
    X(nested, corpus::nested)                \
    X(second, corpus::second)                \
    X(first, corpus::first)                  \
    X(leading, corpus::leading)              \
    X(plus, corpus::Point::operator+)        \
    X(call, corpus::Adder::operator())       \
    X(sort_all, corpus::sort_all)            \
    X(is_less, corpus::is_less)              \
    X(wide, corpus::wide)                    \
    X(joined, corpus::joined)                \
    X(plain_c, corpus_plain_c)

namespace corpus {

enum Function {
#define CORPUS_ID(id, name) id##_id,
    CORPUS_FUNCTIONS(CORPUS_ID)
#undef CORPUS_ID
    function_count
};

struct Counter {
    const char *name;
    volatile long calls;
};

extern Counter counters[function_count];

#define COUNT(id) (corpus::counters[corpus::id##_id].calls = corpus::counters[corpus::id##_id].calls + 1)
#define NOINLINE __attribute__((noinline))

struct Animal {
    Animal() { COUNT(animal_constructor); }
    virtual ~Animal() = default;
    virtual std::string bark(int times) const = 0;
    virtual int legs() const {
        COUNT(legs);
        return 4;
    }
};

struct Dog : Animal {
    explicit Dog(const std::string &name);
    ~Dog() override;
    std::string bark(int times) const override;
    int age() const {
        COUNT(age);
        return static_cast<int>(name.size()) + 1;
    }
    std::string name;
};

// What Python calls, for every binding layer.
std::string bark(const std::string &name, int times);
long run(int n);

}  // namespace corpus
