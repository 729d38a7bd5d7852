// Frames that cannot be guessed without a frame table: no frame pointer, many saved registers, odd sizes.
#include <cstdlib>
#include <cstring>

volatile int sink;

extern "C" __attribute__((noinline)) int innermost(int x) {
  sink = x;
  return x + sink;
}

template <int N>
struct Level {
  static __attribute__((noinline)) int go(int x, long a, long b, long c) {
    volatile char room[N * 24 + 8];
    std::memset(const_cast<char*>(room), x, sizeof room);
    long d = a * 3 + room[N], e = b * 5 - c;
    int result = Level<N - 1>::go(x + 1, d, e, a - b);
    return result + room[1] + int(d ^ e) + int(a + b + c);
  }
};

template <>
struct Level<0> {
  static __attribute__((noinline)) int go(int x, long a, long b, long) {
    return innermost(x + int(a)) + int(b);
  }
};

static int compare(const void* a, const void* b) {
  // Called back through the C library.
  int order = *static_cast<const int*>(a) - *static_cast<const int*>(b);
  return order ? order : Level<6>::go(order, 1, 2, 3) & 0;
}

extern "C" int run_deep() {
  int numbers[] = {3, 1, 1, 2};
  std::qsort(numbers, 4, sizeof(int), compare);
  return numbers[0];
}
