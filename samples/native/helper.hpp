// The C++ that both sample modules call: nothing here knows Python.
#pragma once

#include <stdexcept>
#include <string>

namespace sample {

// Three levels to step through: outer() -> helper() -> inner_loop().
double inner_loop(double start, int steps);
double helper(double start, int steps);
double outer(double start, int steps);

// A type of our own to throw: a reading out of its range, with the value that was read.
class SensorError : public std::runtime_error {
public:
    SensorError(const std::string& message, double reading);
    double reading() const { return reading_; }

private:
    double reading_;
};

double check_reading(double reading);    // throws SensorError above 100
double check_positive(double value);     // throws std::runtime_error below 0

// Blocks until one byte arrives on the descriptor. Returns it, or -1 at the end of the file.
int read_byte(int descriptor);

// Writes through a null pointer, two frames down.
void write_at(int* address, int value);
void crash(int value);

struct Vec2 {
    double x = 0;
    double y = 0;

    double length() const;
    Vec2 operator+(const Vec2& other) const;
    Vec2 operator*(double factor) const;
    bool operator==(const Vec2& other) const;
};

}  // namespace sample
