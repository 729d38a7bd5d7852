#include "corpus.hpp"

extern "C" NOINLINE int corpus_plain_c(int value) {
    COUNT(plain_c);
    return value * 3;
}

namespace corpus {

Counter counters[function_count] = {
#define CORPUS_ROW(id, name) {#name, 0},
    CORPUS_FUNCTIONS(CORPUS_ROW)
#undef CORPUS_ROW
};

Dog::Dog(const std::string &name) : name(name) {
    COUNT(dog_constructor);
}

Dog::~Dog() {
    COUNT(dog_destructor);
}

std::string Dog::bark(int times) const {
    std::string out;
    COUNT(bark);
    for (int i = 0; i < times; ++i)
        out += name + "! ";
    if (times < 0)
        throw std::runtime_error("negative");
    return out;
}

inline int clamp_sum(int a, int b) {
    COUNT(clamp_sum);
    int sum = a + b;
    if (sum > 100)
        sum = 100;
    return sum;
}

__attribute__((always_inline)) inline int twice(int value) {
    COUNT(twice);
    return value * 2 + 1;
}

NOINLINE int use(int a) {
    COUNT(use);
    return twice(clamp_sum(a, 7)) ^ 5;
}

NOINLINE int total(const std::vector<int> &values) {
    int sum = 0;
    COUNT(total);
    for (int value : values)
        sum = clamp_sum(sum, value);
    return sum;
}

static inline int walk(const int *values, int n) {
    COUNT(walk);
    int sum = 0;
    for (int i = 0; i < n; ++i)
        sum += values[i] * i;
    return sum;
}

NOINLINE int walk_one(int n) {
    COUNT(walk_one);
    int values[4] = {n, 2, 3, 4};
    return walk(values, 4);
}

NOINLINE int walk_two(int n) {
    COUNT(walk_two);
    std::vector<int> values(n, 3);
    return walk(values.data(), n) + walk(values.data() + 1, n - 1);
}

NOINLINE int walk_three(int n) {
    std::vector<int> values(n, 3);
    COUNT(walk_three);
    return walk(values.data(), n > 2 ? 2 : n);
}

template <typename T>
T largest(const std::vector<T> &values) {
    T best = values.front();
    COUNT(largest);
    for (const T &value : values)
        if (best < value)
            best = value;
    return best;
}

// Its check may be inlined alone, or come before its prologue.
NOINLINE int guarded(const std::string *text) {
    COUNT(guarded);
    if (text == nullptr)
        return -1;
    std::string copy = *text + "!";
    return static_cast<int>(copy.size());
}

namespace {
int hidden(int value) {
    COUNT(hidden);
    std::vector<int> values(3, value);
    return total(values);
}
}  // namespace

NOINLINE int lookup(const std::map<std::string, int> &table, const std::string &key) {
    COUNT(lookup);
    auto found = table.find(key);
    return found == table.end() ? -1 : found->second;
}

NOINLINE int fail_above(int value, int limit) {
    COUNT(fail_above);
    if (value > limit)
        throw std::out_of_range("above the limit: " + std::to_string(value));
    return value;
}

NOINLINE int try_it(int value) {
    COUNT(try_it);
    try {
        return fail_above(value, 1);
    } catch (const std::out_of_range &error) {
        return static_cast<int>(std::string(error.what()).size());
    }
}

NOINLINE const char *kind_of(int value) {
    COUNT(kind_of);
    switch (value % 5) {
    case 0:
        return "zero";
    case 1:
        return "one";
    case 2:
        return "two";
    case 3:
        return "three";
    default:
        return "many";
    }
}

// Compilers make a loop of it: then there is one call, whatever its counter says.
NOINLINE long factorial(int n) {
    COUNT(factorial);
    if (n < 2)
        return 1;
    long smaller = factorial(n - 1);
    return smaller * n;
}

NOINLINE std::string nested(int n) {
    COUNT(nested);
    if (n < 1)
        return "x";
    return "(" + nested(n - 1) + ")";
}

// Each begins with what was inlined into it.
inline int second(int value) {
    COUNT(second);
    return value + 1;
}

inline int first(int start) {
    int more = second(start);
    COUNT(first);
    return more * 2;
}

NOINLINE int leading(int given) {
    int more = first(given);
    COUNT(leading);
    return more - 1;
}

struct Point {
    int x, y;
    Point operator+(const Point &other) const {
        COUNT(plus);
        return {x + other.x, y + other.y};
    }
};

struct Adder {
    int by;
    int operator()(int value) const {
        COUNT(call);
        return value + by;
    }
};

NOINLINE bool is_less(int a, int b) {
    COUNT(is_less);
    return a < b;
}

NOINLINE int sort_all(std::vector<int> values) {
    COUNT(sort_all);
    std::sort(values.begin(), values.end(), is_less);
    return values.front();
}

// More arguments than there are registers for them, and a large frame.
NOINLINE double wide(int a, long b, float c, double d, int e, int f, int g, int h, const std::string &i) {
    char room[5000];
    COUNT(wide);
    std::fill(std::begin(room), std::end(room), static_cast<char>(a));
    return a + b + c + d + e + f + g + h + i.size() + room[a & 1023];
}

NOINLINE std::string joined(const std::vector<std::string> &parts) {
    std::string text;
    COUNT(joined);
    for (const auto &part : parts)
        text += part;
    return text;
}

std::string bark(const std::string &name, int times) {
    std::unique_ptr<Animal> animal = std::make_unique<Dog>(name);
    return animal->bark(times) + std::to_string(animal->legs()) + std::to_string(Dog(name).age());
}

long run(int n) {
    long sum = 0;
    std::string text = "text";
    std::map<std::string, int> table = {{"a", 1}, {"b", 2}};
    for (int i = 0; i < n; ++i) {
        sum += use(i) + total({i, 30, 90}) + walk_one(i) + walk_two(i + 2) + walk_three(i + 1);
        sum += largest(std::vector<int>{1, i, 3}) + static_cast<long>(largest(std::vector<double>{1.5, 2.5 * i}));
        sum += guarded(i % 2 ? &text : nullptr) + hidden(i) + lookup(table, i % 2 ? "a" : "c") + try_it(i);
        sum += kind_of(i)[0] + factorial(i + 2) + (Point{i, 1} + Point{2, i}).x + Adder{i}(n) + sort_all({3, i, 2});
        sum += static_cast<long>(wide(i, 2, 3, 4, 5, 6, 7, 8, text)) + static_cast<long>(joined({text, text}).size());
        sum += leading(i) + corpus_plain_c(i) + static_cast<long>(nested(i).size());
    }
    return sum;
}

}  // namespace corpus
