#include "python/lock.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

namespace py = pybind11;

namespace ductile {
namespace {

// Threads that are in C++, with the lock, without or waiting for it; not while Python does
// something for them.
std::atomic<int> inside = 0;
std::atomic<bool> is_ending = false;
pthread_t ender{};  // once that is so

bool must_stand() { return is_ending && pthread_equal(pthread_self(), ender) == 0; }

[[noreturn]] void stand_still() {
  for (;;) pause();
}

// With the lock.
void stand_if_ending() {
  if (!must_stand()) return;
  PyEval_SaveThread();
  --inside;
  stand_still();
}

void begin_to_end() {
  ender = pthread_self();
  is_ending = true;
  const py::gil_scoped_release free;  // they may need it to come to where they stand
  while (inside > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace

Called::Called() {
  ++inside;
  stand_if_ending();
}

Called::~Called() { --inside; }

WithoutLock::~WithoutLock() {
  if (must_stand()) {
    --inside;
    stand_still();
  }
  PyEval_RestoreThread(state_);
  stand_if_ending();
}

WithLock::WithLock() {
  if (must_stand() && PyGILState_Check() == 0) {
    --inside;
    stand_still();
  }
  state_ = PyGILState_Ensure();
  stand_if_ending();
}

PyObject* call_python(PyObject* function, PyObject* argument) {
  --inside;
  PyObject* answer = nullptr;
  try {
    answer = PyObject_CallOneArg(function, argument);
  } catch (const abi::__forced_unwind&) {
    stand_still();  // the interpreter has ended this thread
  }
  ++inside;
  stand_if_ending();
  return answer;
}

void see_to_the_end() {
  py::module_::import("atexit").attr("register")(py::cpp_function(&begin_to_end));
  // In the child of a fork there are no other threads.
  pthread_atfork(nullptr, nullptr, [] { inside = 0; });
}

}  // namespace ductile
