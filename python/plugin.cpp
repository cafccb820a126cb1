// Python for the program `ductile`: the library that it loads when a policy is asked for that is
// written in Python. It knows nothing but how to begin Python and import the module beside it.
#include <filesystem>
#include <string>

#include <Python.h>
#include <dlfcn.h>

#include "cli/python_policies.hpp"

namespace {

// What Python says, and forgets then.
std::string error_text() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject* const words = value ? PyObject_Str(value) : nullptr;
  const char* const text = words ? PyUnicode_AsUTF8(words) : nullptr;
  std::string result = text ? text : "Python did not begin";
  Py_XDECREF(words);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return result;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const ductile::PythonPolicies*
ductile_begin_python(std::string& error) {
  Py_InitializeEx(0);  // signals are the program's
  Dl_info self{};
  dladdr(reinterpret_cast<void*>(&ductile_begin_python), &self);
  // The package is the folder of this library.
  const auto folder = std::filesystem::path(self.dli_fname).parent_path().parent_path();
  PyObject* const place = PyUnicode_DecodeFSDefault(folder.c_str());
  PyObject* const path = PySys_GetObject("path");
  if (place && path) PyList_Insert(path, 0, place);
  Py_XDECREF(place);
  // The program ends without Python, and none of what a policy prints is to be lost.
  PyRun_SimpleString(
      "import sys\n"
      "for stream in sys.stdout, sys.stderr:\n"
      "    if stream is not None: stream.reconfigure(line_buffering=True)\n"
      "del sys, stream\n");
  const void* const policies = PyCapsule_Import(ductile::PythonPolicies::kCapsule, 0);
  if (!policies) error = error_text();
  PyEval_SaveThread();  // runs take it when they need it
  return static_cast<const ductile::PythonPolicies*>(policies);
}
