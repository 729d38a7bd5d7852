// Variables of the C++ library's types.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct Point {
    int x;
    std::string name;
};

int look(const std::string &text, std::vector<int> numbers, std::map<std::string, int> ages,
         std::shared_ptr<Point> point, std::optional<double> maybe) {
    int size = static_cast<int>(numbers.size());
    return size + point->x + ages.at("Ada") + static_cast<int>(text.size()) + maybe.has_value();
}

int main() {
    std::string text(300, 'x');
    look("a text of more than twenty characters", {1, 2, 3}, {{"Ada", 36}, {"Grace", 85}},
         std::make_shared<Point>(Point{7, "here"}), 2.5);
    return static_cast<int>(text.size()) - 300;
}
