// A class whose last lines begin no statement in optimised code: each is one call of what is inlined there.
#pragma once
#include <atomic>
#include <string>
#include <vector>

extern std::atomic<long> shown_calls;

struct Bag {
    std::vector<int> items;
    Bag &operator=(const Bag &other) {
        items = other.items;
        return *this;
    }
    void clear() {
        items.clear();
        shown_calls.fetch_add(1); // GCC 14 would leave nothing of the line above
    }
    __attribute__((noinline)) long weight(long each) const {
        long sum = each;
        for (int item : items)
            sum += item * each;
        return sum;
    }
    std::string text() const { shown_calls.fetch_add(1); return std::to_string(items.size()); }
};
