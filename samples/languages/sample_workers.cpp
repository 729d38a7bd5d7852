// A library whose work is done by threads: of OpenMP, and of std::thread.

#include <omp.h>

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

double first_by_worker(const double* values) {
  double first = 0;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 1) {
      first = values[0];
    }
#pragma omp barrier
  }
  return first;
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

extern "C" double workers_first(const double* values) {
  return work::first_by_worker(values);
}

extern "C" int workers_thread() {
  return work::in_thread();
}
