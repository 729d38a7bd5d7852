// Containers of the C++ library after random operations. For each, what it says itself: "expression<TAB>value".
#include <array>
#include <cstdio>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <tuple>
#include <variant>
#include <vector>
#ifdef WITH_EIGEN
#include <Eigen/Dense>
#endif

struct Wide {
    int number;
    char rest[196];
    Wide(int n) : number(n) {}
    operator int() const { return number; }
};
struct Huge {
    int number;
    char rest[1020];
    Huge(int n) : number(n) {}
    operator int() const { return number; }
};
struct Shape {
    int sides = 0;
    virtual ~Shape() {}
};
struct Named {
    int label = 4;
    virtual ~Named() {}
};
struct Circle : Shape {
    int radius = 7;
};
struct Badge : Circle, Named {
    int colour = 9;
};
enum class Key { one = 1, two };

std::mt19937 random_numbers(SEED);
int any(int below) { return (int)(random_numbers() % below); }

template <typename... Words>
void said(long long value, const char* form, Words... words) {
    printf(form, words...);
    printf("\t%lld\n", value);
}

// -- what a container must offer to take part
template <typename C>
void shuffle_ends(C& c) {
    for (int step = 0; step < 900; step++) switch (any(4)) {
        case 0: c.push_front(step); break;
        case 1: c.push_back(step); break;
        case 2: if (!c.empty() && any(3)) c.pop_front(); break;
        default: if (!c.empty() && any(2)) c.pop_back();
    }
}

template <typename C>
void ask_sequence(const char* name, C& c) {
    said((long long)c.size(), "%s.size()", name);
    said(c.empty(), "%s.empty()", name);
    if (c.empty()) return;
    said((int)c.front(), "(int)%s.front()", name);
    said((int)c.back(), "(int)%s.back()", name);
}

template <typename C>
void ask_indexed(const char* name, C& c, const char* member) {
    ask_sequence(name, c);
    for (int i = 0; i < 12 && !c.empty(); i++) {
        int at = i < 2 ? (i ? (int)c.size() - 1 : 0) : any((int)c.size());
        said((int)c[at], "%s[%d]%s", name, at, member);
        said((int)c.at(at), "%s.at(%d)%s", name, at, member);
    }
}

std::vector<int> numbers;
std::vector<bool> bits;
std::deque<int> both_ends;
std::deque<Wide> wide_ends;
std::deque<Huge> huge_ends;
std::deque<int> no_ends;
std::list<int> chain;
std::forward_list<int> forward;
std::array<int, 5> fixed;
std::map<std::string, int> by_name;
std::map<int, std::string> by_number;
std::multimap<int, int> several;
std::set<int> some;
std::unordered_map<std::string, std::vector<int>> hashed;
std::unordered_map<int, int> hashed_numbers;
std::unordered_set<int> hashed_set;
std::map<Key, int> by_key;
std::map<std::string, std::map<int, std::array<int, 2>>> deep;
std::string text;
std::unique_ptr<Shape> owned;
std::shared_ptr<Shape> shared;
std::shared_ptr<Named> second_base;
std::unique_ptr<int[]> owned_array;
std::optional<int> maybe;
std::optional<std::string> nothing;
std::variant<int, double, std::string> either;
std::vector<std::unique_ptr<Shape>> shapes;
std::tuple<int, std::vector<int>> mixed{5, {6, 7}};
std::optional<std::pair<int, int>> maybe_point{{1, 2}};
#ifdef WITH_EIGEN
Eigen::Matrix<int, 3, 2> by_column;
Eigen::Matrix<int, 3, 2, Eigen::RowMajor> by_row;
Eigen::MatrixXi dynamic(3, 2);
Eigen::Matrix<int, Eigen::Dynamic, 2> half_dynamic(3, 2);
Eigen::VectorXi vector(3);
#endif
Shape* raw;
Shape* none;
Shape* garbage;
Shape* another_kind;
Named* side;
Shape* plain;

extern "C" __attribute__((noinline)) void look() { asm volatile(""); }

int main() {
    for (int i = 0; i < 200; i++) {
        numbers.push_back(any(1000));
        bits.push_back(any(2));
        chain.push_front(any(1000));
        forward.push_front(any(1000));
        by_name["key " + std::to_string(any(60))] = i;
        by_number[any(60) - 30] = "value " + std::to_string(i);
        several.emplace(any(10), i);
        some.insert(any(300));
        hashed["key " + std::to_string(any(60))].push_back(i);
        hashed_numbers[any(500)] = i;
        hashed_set.insert(any(500));
        text += (char)('a' + any(26));
    }
    for (int i = 0; i < 77; i++) { numbers.erase(numbers.begin() + any((int)numbers.size())); chain.pop_front(); }
    for (int& one : fixed) one = any(100);
    shuffle_ends(both_ends);
    shuffle_ends(wide_ends);
    shuffle_ends(huge_ends);
    both_ends.insert(both_ends.begin() + both_ends.size() / 2, 5, 42);
    by_key[Key::two] = 22;
    deep["a\"b"][-3] = {1, 2};
    owned.reset(new Circle);
    shared.reset(new Badge);
    second_base.reset(new Badge);
    owned_array.reset(new int[3]{1, 2, 3});
    maybe = 5;
    either = 2.5;
    for (int i = 0; i < 3; i++) shapes.emplace_back(i == 1 ? new Circle : new Shape);
    raw = new Badge;
    static long junk[8] = {0x1234, 1, 2};
    garbage = (Shape*)junk;
    another_kind = (Shape*)(void*)(Named*)new Named;
    side = new Badge;
    plain = new Shape;

#ifdef WITH_EIGEN
    for (int i = 0; i < 3; i++) {
        vector(i) = any(100);
        for (int j = 0; j < 2; j++) {
            by_column(i, j) = any(100);
            by_row(i, j) = any(100);
            dynamic(i, j) = any(100);
            half_dynamic(i, j) = any(100);
        }
    }
#endif
    ask_indexed("numbers", numbers, "");
    ask_indexed("both_ends", both_ends, "");
    ask_indexed("wide_ends", wide_ends, ".number");
    ask_indexed("huge_ends", huge_ends, ".number");
    ask_indexed("fixed", fixed, "");
    ask_sequence("no_ends", no_ends);
    ask_sequence("chain", chain);
    said((long long)bits.size(), "bits.size()");
    for (int i = 0; i < 20; i++) { int at = any(200); said(bits[at], "bits[%d]", at); }
    said(forward.front(), "forward.front()");
    said((long long)by_name.size(), "by_name.size()");
    said((long long)some.size(), "some.size()");
    said((long long)several.size(), "several.size()");
    said((long long)hashed.size(), "hashed.size()");
    said((long long)hashed_set.size(), "hashed_set.size()");
    for (auto& [key, value] : by_name) said(value, "by_name[\"%s\"]", key.c_str());
    for (auto& [key, value] : by_name) { said(value, "by_name.at(\"%s\")", key.c_str()); break; }
    for (auto& [key, value] : by_number) said((int)value[6], "by_number[%d][6]", key);
    for (auto& [key, value] : by_number) said((long long)value.size(), "by_number[%d].size()", key);
    for (auto& [key, value] : hashed) said(value.back(), "hashed[\"%s\"].back()", key.c_str());
    for (auto& [key, value] : hashed) said(value[0], "hashed[\"%s\"][0]", key.c_str());
    for (auto& [key, value] : hashed_numbers) said(value, "hashed_numbers[%d]", key);
    said(by_key[Key::two], "by_key[Key::two]");
    said(deep["a\"b"][-3][1], "deep[\"a\\\"b\"][-3][1]");
    said(text[17], "text[17]");
    said((long long)text.size(), "text.size()");
    said(owned_array[2], "owned_array[2]");
    said(std::get<0>(mixed), "std::get<0>(mixed)");
    said(std::get<1>(mixed)[1], "std::get<1>(mixed)[1]");
    said(std::get<3>(fixed), "std::get<3>(fixed)");
    said((long long)std::get<double>(either), "std::get<double>(either)");
    said((long long)std::get<1>(either), "std::get<1>(either)");
    said(maybe_point->second, "maybe_point->second");
#ifdef WITH_EIGEN
    for (int i = 0; i < 3; i++) for (int j = 0; j < 2; j++) {
        said(by_column(i, j), "by_column(%d, %d)", i, j);
        said(by_row(i, j), "by_row(%d,%d)", i, j);
        said(dynamic(i, j), "dynamic(%d, %d)", i, j);
        said(half_dynamic(i, j), "half_dynamic(%d, %d)", i, j);
        said(vector(i), "vector(%d)", i);
        said(vector[i], "vector[%d]", i);
    }
#endif
    said(*maybe, "*maybe");
    said(maybe.value(), "maybe.value()");
    said(((Circle*)owned.get())->radius, "owned->radius");
    said(((Badge*)shared.get())->colour, "shared->colour");
    said(((Badge*)second_base.get())->radius, "second_base->radius");
    said(((Circle*)shapes[1].get())->radius, "shapes[1]->radius");
    said(((Badge*)raw)->label, "raw->label");
    said(((Badge*)raw)->sides, "raw->sides");
    said(numbers[3] + 1, "numbers[3] + 1");
    said(both_ends[3] * 2, "both_ends[3] * 2");
    fflush(stdout);
    look();
}
