// A library whose work is done by threads: of OpenMP, and of std::thread.

#include <atomic>
#include <chrono>
#include <thread>

namespace work {

double parallel_sum(const double* values, int count) {
  double total = 0;
#pragma omp parallel for reduction(+ : total) num_threads(2)
  for (int i = 0; i < count; ++i) {
    total += values[i];
  }
  return total;
}

void count_up(std::atomic<int>& counter) {
  ++counter;
}

int in_thread() {
  std::atomic<int> counter{0};
  std::thread worker(count_up, std::ref(counter));
  worker.join();
  return counter;
}

}  // namespace work

extern "C" double workers_sum(const double* values, int count) {
  return work::parallel_sum(values, count);
}

extern "C" int workers_thread() {
  return work::in_thread();
}
