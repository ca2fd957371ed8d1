#include "util/threads.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "util/error.hpp"

namespace sqe {
namespace {

constexpr int kMaxThreads = 1024;

// One call of parallel_for. Workers and the caller draw indices until none is left.
struct Job {
  Job(std::size_t n, int helpers, const std::function<void(std::size_t, int)>& f)
      : count(n), seats(helpers), task(&f) {}

  const std::size_t count;
  int seats;  // workers that may still join; guarded by the pool's mutex
  const std::function<void(std::size_t, int)>* task;
  std::atomic<std::size_t> next{0};
  std::atomic<int> slots{1};  // slot 0 is the caller
  std::mutex mutex;
  std::condition_variable done;
  int active = 0;  // workers inside run(); guarded by mutex
  std::exception_ptr error;

  void run(int slot) {
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      try {
        (*task)(i, slot);
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next.store(count, std::memory_order_relaxed);
      }
    }
  }
};

class Pool {
 public:
  void execute(const std::shared_ptr<Job>& job, int helpers) {
    {
      std::lock_guard lock(mutex_);
      while (static_cast<int>(n_workers_) < helpers) {
        std::thread([this] { work(); }).detach();  // lives as long as the process
        ++n_workers_;
      }
      jobs_.push_back(job);
    }
    wake_.notify_all();
    job->run(0);
    {
      std::lock_guard lock(mutex_);
      jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), job), jobs_.end());
    }
    std::unique_lock lock(job->mutex);
    job->done.wait(lock, [&] { return job->active == 0; });
  }

 private:
  void work() {
    for (;;) {
      std::shared_ptr<Job> job;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return !jobs_.empty(); });
        job = jobs_.front();
        {
          std::lock_guard job_lock(job->mutex);
          ++job->active;
        }
        if (--job->seats == 0) jobs_.pop_front();
      }
      job->run(job->slots.fetch_add(1));
      {
        std::lock_guard job_lock(job->mutex);
        --job->active;
        if (job->active == 0) job->done.notify_all();
      }
      // The job may still stand in the queue with every index drawn; do not join it again.
      std::lock_guard lock(mutex_);
      jobs_.erase(std::remove(jobs_.begin(), jobs_.end(), job), jobs_.end());
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> jobs_;
  int n_workers_ = 0;
};

// Never destroyed: workers may still wait on it while the process ends. A child of fork() has none of the
// workers, so it gets a new pool (the old one is left alone: its locks may be held).
std::atomic<Pool*> the_pool{nullptr};

void forget_pool() { the_pool.store(nullptr); }

Pool& pool() {
  static const int registered = pthread_atfork(nullptr, nullptr, forget_pool);
  (void)registered;
  Pool* existing = the_pool.load();
  if (existing) return *existing;
  Pool* fresh = new Pool();
  if (the_pool.compare_exchange_strong(existing, fresh)) return *fresh;
  delete fresh;
  return *existing;
}

}  // namespace

int default_threads() {
  if (const char* wish = std::getenv("SQE_FAST_THREADS"); wish && *wish) {
    char* end = nullptr;
    const long value = std::strtol(wish, &end, 10);
    if (*end != '\0' || value < 1 || value > kMaxThreads) {
      throw InputError("SQE_FAST_THREADS must be a whole number from 1 to 1024; got '" + std::string(wish) +
                       "'");
    }
    return static_cast<int>(value);
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t, int)>& task) {
  if (count == 0) return;
  const int wanted = static_cast<int>(std::min<std::size_t>(count, std::clamp(threads, 1, kMaxThreads)));
  if (wanted == 1) {
    for (std::size_t i = 0; i < count; ++i) task(i, 0);
    return;
  }
  auto job = std::make_shared<Job>(count, wanted - 1, task);
  pool().execute(job, wanted - 1);
  if (job->error) std::rethrow_exception(job->error);
}

}  // namespace sqe
