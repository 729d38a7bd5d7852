// A static variable that is made by what Python gives, and a thread that is waited for when an object ends.
#include <atomic>
#include <memory>
#include <thread>

namespace {
struct Settings {
    explicit Settings(int (*load)()) : level(load()) {}
    int level;
};

struct Ticker {
    explicit Ticker(int (*tick)()) : thread([this, tick] {
        do {
            begun = true;
            tick();
        } while (!stopped);
    }) {}
    ~Ticker() {
        stopped = true;
        thread.join();
    }
    std::atomic<bool> begun{false}, stopped{false};
    std::thread thread;
};
}  // namespace

extern "C" int level_of(int (*load)()) {
    static Settings settings(load);
    return settings.level;
}

extern "C" int tick_a_while(int (*tick)()) {
    auto ticker = std::make_unique<Ticker>(tick);
    while (!ticker->begun) std::this_thread::yield();
    ticker.reset();
    return 0;
}
