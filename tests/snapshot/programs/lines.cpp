// A call from code that was inlined twice, and a call through a lambda.
#include "lines.h"

namespace lines {
struct Walker {
    Callback callback;
    __attribute__((noinline)) int walk(int depth) {
        return step(callback, depth) + 1;
    }
};
}  // namespace lines

extern "C" int outermost(Callback callback) {
    lines::Walker walker{callback};
    auto twice = [&](int depth) __attribute__((noinline)) {
        return walker.walk(depth) * 2;
    };
    return twice(1) + twice(2);
}
