#include "helper.hpp"

#include <cerrno>
#include <cmath>
#include <system_error>

#include <unistd.h>

namespace sample {

double inner_loop(double start, int steps) {
    double total = start;
    for (int i = 0; i < steps; ++i) {
        double term = 1.0 / (i + 1);
        total += term;
    }
    return total;
}

double helper(double start, int steps) {
    double doubled = start * 2;
    double result = inner_loop(doubled, steps);
    return result;
}

double outer(double start, int steps) {
    if (steps < 0) {
        throw std::invalid_argument("steps is negative");
    }
    double result = helper(start, steps);
    return result + 1;
}

SensorError::SensorError(const std::string& message, double reading)
    : std::runtime_error(message), reading_(reading) {}

double check_reading(double reading) {
    if (reading > 100) {
        throw SensorError("reading above 100", reading);
    }
    return reading;
}

double check_positive(double value) {
    if (value < 0) {
        throw std::runtime_error("value is negative");
    }
    return value;
}

int read_byte(int descriptor) {
    unsigned char byte = 0;
    ssize_t count = 0;
    do {
        count = ::read(descriptor, &byte, 1);
    } while (count < 0 && errno == EINTR);
    if (count < 0) {
        throw std::system_error(errno, std::generic_category(), "read");
    }
    return count == 0 ? -1 : byte;
}

void write_at(int* address, int value) {
    // volatile: the store must happen, also with -O2.
    *static_cast<volatile int*>(address) = value;
}

void crash(int value) {
    int* nowhere = nullptr;
    write_at(nowhere, value);
}

double Vec2::length() const { return std::sqrt(x * x + y * y); }

Vec2 Vec2::operator+(const Vec2& other) const { return {x + other.x, y + other.y}; }

Vec2 Vec2::operator*(double factor) const { return {x * factor, y * factor}; }

bool Vec2::operator==(const Vec2& other) const { return x == other.x && y == other.y; }

}  // namespace sample
