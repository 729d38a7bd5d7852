// sample_walks: C++ and Python call each other as a plan says, and each line of C++ leaves a mark.
//
// A plan is a text: l a line, n(...) C++, p(...) Python, g(...) guarded by a handler, r(...) by one that throws again, t an exception, q a
// callback from the C library, w a thread that calls Python, y(...) a generator. Each function begins and ends with its
// lines marked, has one call in a line at most, and its last brace stands on its last line.
#include <pybind11/pybind11.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace py = pybind11;

#define EXPORTED extern "C" __attribute__((visibility("default"), used))

EXPORTED volatile long walk_count = 0;  // marks so far
EXPORTED volatile int walk_marks[1 << 20] = {};  // a line and a depth each; a negative line while an exception passes
#define MARK(line, depth) (walk_marks[walk_count] = (line) * 1000 + (depth), walk_count = walk_count + 1)
#define AT MARK(__LINE__, depth)

namespace {

std::string plan;
const char* letters = nullptr;  // of the plan
long* after = nullptr;  // where the next step of the plan begins
py::object* python_block = nullptr;
int sorting_depth = 0;

struct Fail {
    long code;
};

struct Keeper {
    explicit Keeper(int d) : depth(d) { AT; kept = depth; }
    ~Keeper() { MARK(std::uncaught_exceptions() > 0 ? -__LINE__ : __LINE__, depth); kept = 0; }
    int depth;
    int kept = 0;
};

long block(long at, int depth);

long leaf(long at, int depth) {
    AT; long value = at;
    AT; return value + depth; }

long nested(long at, int depth) {
    AT; long value = block(at + 2, depth + 1);
    AT; return value; }

long guarded(long at, int depth) {
    AT; long value = 0;
    try {
        AT; Keeper keeper(depth + 1);
        AT; value = block(at + 2, depth + 1);
        AT; value += keeper.kept; } catch (const Fail& fail) { AT; value = fail.code; } catch (...) { AT; value = -1; }
    AT; return value; }

long repeated(long at, int depth) {
    AT; long value = 0;
    try {
        AT; value = block(at + 2, depth + 1); } catch (...) { AT; throw; }
    AT; return value; }

long thrown(long at, int depth) {
    AT; long code = at;
    AT; throw Fail{code}; }

long called_back(long at, int depth) {
    AT; py::object answer = (*python_block)(at + 2, depth + 1);
    AT; return answer.cast<long>(); }

int compare(const void* one, const void* other) {
    int depth = sorting_depth; AT; long difference = *static_cast<const long*>(one) - *static_cast<const long*>(other);
    AT; return difference < 0 ? -1 : difference > 0; }

long sorted(long at, int depth) {
    AT; long values[3] = {at, at - 1, at - 2};
    AT; sorting_depth = depth + 1;
    AT; std::qsort(values, 3, sizeof(long), compare);
    AT; return values[0]; }

void work() {
    py::gil_scoped_acquire gil;
    py::module_::import("builtins").attr("len")("abc");
}

long threaded(long at, int depth) {
    AT; long value = at;
    {
        AT; py::gil_scoped_release no_gil;
        AT; std::thread(work).join(); }
    AT; return value; }

using Step = long (*)(long, int);

Step step_for(char letter) {
    switch (letter) {
    case 'n': return nested;
    case 'p': return called_back;
    case 'y': return called_back;
    case 'g': return guarded;
    case 'r': return repeated;
    case 't': return thrown;
    case 'q': return sorted;
    case 'w': return threaded;
    default: return leaf;
    }
}

Step* steps = nullptr;  // by place in the plan

long block(long at, int depth) {
    AT; long total = 0;
    while (AT, letters[at] != ')') {
        AT; total += steps[at](at, depth + 1);
        AT; at = after[at]; }
    AT; return total; }

void prepare(const std::string& text, const py::object& callback) {
    plan = text;
    python_block = new py::object(callback);
    letters = plan.c_str();
    after = new long[text.size()]();
    steps = new Step[text.size()]();
    std::vector<std::size_t> open;
    for (std::size_t at = 0; at < text.size(); at++) {
        after[at] = static_cast<long>(at) + 1;
        steps[at] = step_for(text[at]);
        if (text[at] == '(') {
            open.push_back(at - 1);
        } else if (text[at] == ')' && !open.empty()) {
            after[open.back()] = static_cast<long>(at) + 1;
            open.pop_back();
        }
    }
}

std::vector<int> marks() { return {walk_marks, walk_marks + walk_count}; }

}  // namespace

PYBIND11_MODULE(sample_walks, m) {
    m.def("block", &block);
    m.def("prepare", &prepare);
    m.def("after", [] { py::list all; for (std::size_t at = 0; at < plan.size(); at++) all.append(after[at]); return all; });
    m.def("count", [] { return walk_count; });
    m.def("marks", [] { py::list all; for (int one : marks()) all.append(one); return all; });
}
