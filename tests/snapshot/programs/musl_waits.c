// Threads that wait in different functions of the C library, called by a function named after each.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void* in_sleep(void* p) {
  sleep(1000);
  return p;
}

static void* in_cond_wait(void* p) {
  pthread_mutex_lock(&mutex);
  pthread_cond_wait(&never, &mutex);
  return p;
}

static void* in_poll(void* p) {
  struct pollfd none = {0, 0, 0};
  poll(&none, 0, -1);
  return p;
}

static int comparing(const void* a, const void* b) {
  return pause() + (a < b);  // called back through the C library
}

static void* in_qsort(void* p) {
  int numbers[] = {2, 1};
  qsort(numbers, 2, sizeof *numbers, comparing);
  return p;
}

static void handler(int number) {
  pause();
  (void)number;
}

static void* in_handler(void* p) {
  raise(SIGUSR1);
  return p;
}

int main(void) {
  void* (*functions[])(void*) = {in_sleep, in_cond_wait, in_poll, in_qsort, in_handler};
  signal(SIGUSR1, handler);
  for (int i = 0; i < 5; ++i) {
    pthread_t thread;
    pthread_create(&thread, 0, functions[i], 0);
  }
  char line[10];
  return fgets(line, sizeof line, stdin) == 0;
}
