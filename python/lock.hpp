// The lock of the interpreter, which may end while its threads (daemon=True) are in C++.
//
// From then on no thread but the one that ends it touches Python, nor does anything in C++: it
// stands still where it would take the lock, or at the end of what Python does for it. CPython ends
// such threads where they take the lock, which would unwind the C++ that called. What is under way
// in C++ is waited for until it stands still, as what it uses is destroyed next.
#pragma once

#include <pybind11/pybind11.h>

namespace ductile {

/// Around all that Python calls and that takes a while. With the lock.
class Called {
 public:
  Called();
  Called(const Called&) = delete;
  Called& operator=(const Called&) = delete;
  ~Called();
};

/// Within that, others have the lock.
class WithoutLock {
 public:
  WithoutLock() : state_(PyEval_SaveThread()) {}
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;
  ~WithoutLock();

 private:
  PyThreadState* state_;
};

/// Has the lock, whoever had it before.
class WithLock {
 public:
  WithLock();
  WithLock(const WithLock&) = delete;
  WithLock& operator=(const WithLock&) = delete;
  ~WithLock() { PyGILState_Release(state_); }

 private:
  PyGILState_STATE state_;
};

/// What Python does for C++: `function(argument)`. With the lock.
PyObject* call_python(PyObject* function, PyObject* argument);

/// To be called once, when the module is loaded.
void see_to_the_end();

}  // namespace ductile
