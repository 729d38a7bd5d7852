// Functions that GCC at -O2 splits and clones: .cold, .constprop.
#include <stdexcept>
#include <cstdio>

static __attribute__((noinline)) int specialised(int kind, int x) {
  for (int i = 0; i < x; i++) std::printf("%d\n", kind * i);
  return kind ? x * 3 : x / 7;
}

extern "C" int call_specialised(int x) { return specialised(7, x) + specialised(7, x + 1); }

extern "C" int slow_path(int x) {
  if (__builtin_expect(x < 0, 0)) {
    std::printf("negative %d\n", x);
    throw std::runtime_error("negative");
  }
  return x + call_specialised(x);
}

int cpp_slow_path(int x) {
  if (__builtin_expect(x < 0, 0)) throw std::runtime_error("negative");
  return x + call_specialised(x);
}
