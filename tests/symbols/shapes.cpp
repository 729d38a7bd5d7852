// Every kind of C++ and C name that the symbol search has to tell apart. Compiled by the tests.
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#define KEPT __attribute__((noinline, used))

extern "C" {
KEPT int plain_c(int x) { return x + 1; }
KEPT int plain_c_other(int x) { return x + 2; }
// Its string is the tail of another string, so the linker stores it only once.
KEPT int other(int x) { return x + 3; }
static KEPT int local_c(int x) { return x + 4; }
int first_name(int x) { return x + 5; }
int second_name(int x) __attribute__((alias("first_name")));
int c_variable = 6;
static int pick_three(int x) { return x * 3; }
static int (*resolve_chosen())(int) { return pick_three; }
int chosen(int x) __attribute__((ifunc("resolve_chosen")));
}

int use_local(int x) { return local_c(x); }

namespace outer {
namespace inner {
KEPT int deep(int x) { return x; }
KEPT int deep(double x, std::string const& text) { return int(x) + int(text.size()); }
KEPT int deep(const std::vector<int>& values, unsigned long long count) { return int(values.size() + count); }
}  // namespace inner
KEPT int deep(char const* text) { return text[0]; }
namespace {
KEPT int hidden(int x) { return x + 7; }
}  // namespace
KEPT int use_hidden(int x) { return hidden(x); }
inline namespace version1 {
KEPT int versioned(int x) { return x; }
}  // namespace version1

struct Shape {
  KEPT Shape() : value(1) {}
  KEPT explicit Shape(int x) : value(x) {}
  KEPT virtual ~Shape() { value = 0; }
  KEPT int method(int x) const { return x + value; }
  KEPT int method(int x) { return x - value; }
  KEPT static int make(int x) { return x; }
  KEPT int operator()(int x) const { return x * value; }
  KEPT bool operator<(Shape const& other) const { return value < other.value; }
  KEPT Shape* operator->() { return this; }
  KEPT Shape& operator<<(int x) { value <<= x; return *this; }
  KEPT operator bool() const { return value != 0; }
  KEPT operator std::vector<int>() const { return {value}; }
  KEPT operator unsigned long() const { return 1; }
  KEPT operator char const*() const { return "shape"; }
  KEPT operator std::string() const { return "shape"; }
  KEPT void* operator new(std::size_t size) { return ::operator new(size); }
  KEPT void operator delete(void* where) { ::operator delete(where); }
  KEPT int operator[](int x) const { return x; }
  virtual int area() { return value; }
  int value;
};

struct Second {
  virtual ~Second() = default;
  KEPT virtual int other_base() { return 2; }
};

struct Both : Shape, Second {
  KEPT int area() override { return 4; }
  KEPT int other_base() override { return 3; }  // has a non-virtual thunk
};

template <typename T>
struct Box {
  KEPT T get(T x) { return x; }
  template <typename U>
  KEPT U convert(T x) {
    return U(x);
  }
  struct Inner {
    KEPT int leaf() { return int(sizeof(T)); }
  };
};

template <typename T, int N>
KEPT T scaled(T x) {
  return x * N;
}

template <typename... Ts>
KEPT int count_of(Ts... values) {
  return int(sizeof...(values));
}

KEPT int with_lambda(int x) {
  auto once = [](int y) __attribute__((noinline)) { return y + 1; };
  auto twice = [x](auto y) __attribute__((noinline)) { return y + x; };
  return once(x) + twice(x) + int(twice(2.5));
}
KEPT std::ostream& operator<<(std::ostream& out, Shape const& shape) { return out << shape.value; }
KEPT int callback(int (*function)(int), void (Shape::*)(int)) { return function ? function(1) : 0; }
KEPT std::optional<int> maybe(std::optional<long> x) { return x ? std::optional<int>(int(*x)) : std::nullopt; }
KEPT auto returns_pointer(int) -> int (*)(double) { return nullptr; }
KEPT int functional(std::function<int(int)> f) { return f(1); }
KEPT void* operator_like(int) { return nullptr; }
KEPT int operator""_sides(unsigned long long sides) { return int(sides); }
KEPT int nothing(std::nullptr_t) { return 0; }
KEPT int by_default(std::map<std::string, std::vector<long>> const&, std::unique_ptr<Shape>) { return 0; }
template <bool B, unsigned long N> KEPT int literal() { return B + N; }
template int literal<true, 7>();
struct Global {
  int numbers[4];
} global_table = {{1, 2, 3, 4}};
thread_local int per_thread = 5;
}  // namespace outer

// Instantiations.
template struct outer::Box<int>;
template struct outer::Box<std::string>;
template long outer::Box<int>::convert<long>(int);
template float outer::scaled<float, 3>(float);
template int outer::scaled<int, -1>(int);
template int outer::count_of<int, char const*, outer::Shape>(int, char const*, outer::Shape);

int use_all(int x) {
  outer::Shape shape(x);
  outer::Both both;
  outer::Box<int>::Inner inner;
  std::vector<int> list = shape;
  return shape.method(x) + shape(x) + both.other_base() + int(list.size()) + inner.leaf() + outer::per_thread;
}
