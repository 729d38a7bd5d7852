using Callback = int (*)();

namespace lines {
template <typename T>
__attribute__((always_inline)) inline int innermost(T callback, int depth) {
    int found = callback();
    return found + depth;
}

__attribute__((always_inline)) inline int step(Callback callback, int depth) {
    depth += 1;
    return innermost(callback, depth);
}
}  // namespace lines
