#include "cli/python_policies.hpp"

#include <array>
#include <filesystem>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.hpp"

namespace ductile {
namespace {

constexpr const char* kPluginName = "libductile_python.so";

// Beside the program, as it was built, or where it is installed.
std::filesystem::path plugin_path() {
  std::error_code error;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  for (const std::string_view within : {"python/ductile", "../" DUCTILE_PYTHON_DIR "/ductile"}) {
    auto path = folder / within / kPluginName;
    if (std::filesystem::exists(path, error)) return path;
  }
  return {};
}

const PythonPolicies& begin_python(const std::string& policy) {
  const auto fail = [&](const std::string& what, const char* remedy) {
    return InputError({.field = "policy " + policy}, what, remedy);
  };
  const std::filesystem::path path = plugin_path();
  if (path.empty()) {
    throw fail("this ductile was built without Python",
               "install python3-dev and pybind11-dev (scripts/setup --python), and build it again");
  }
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  auto* const begin =
      library ? reinterpret_cast<BeginPython*>(dlsym(library, kBeginPython)) : nullptr;
  if (!begin) throw fail(dlerror(), "install libpython3, or build ductile again");
  std::string error;
  const PythonPolicies* const policies = begin(error);
  if (!policies) throw fail(error, "build ductile again, with the Python that is installed");
  if (std::string_view(policies->build) != kPythonBuild) {
    throw fail(fmt::format("{} is of ductile {}, and this is {}", path.string(), policies->build,
                           kPythonBuild),
               "install both anew");
  }
  return *policies;
}

const PythonPolicies* begun = nullptr;  // NOLINT: Python is begun once

}  // namespace

OutsidePolicies outside_python() {
  return {.name = "python",
          .form = "python:FILE.py:CLASS[,parameter=value,...]",
          .make =
              [](const std::string& what, const std::map<std::string, std::string>& own) {
                if (begun == nullptr) begun = &begin_python("python:" + what);
                std::shared_ptr<Policy> policy;
                begun->make(what, own, policy);
                return policy;
              },
          .fork = [] { return begun != nullptr ? begun->fork() : fork(); }};
}

}  // namespace ductile
