// The module `_ductile`: what `python/ductile` stands on. Options come as the command line writes
// them, so that there is one place for their names, meanings and errors.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "base/error.hpp"
#include "cli/process.hpp"
#include "cli/simulate.hpp"
#include "cli/write_log.hpp"
#include "live/journal.hpp"
#include "policies/registry.hpp"
#include "python/lock.hpp"
#include "python/policy.hpp"
#include "report/explanation.hpp"
#include "report/text.hpp"
#include "simulation/replay.hpp"
#include "workload/adaptive.hpp"
#include "workload/generate.hpp"
#include "workload/swf.hpp"

namespace py = pybind11;

namespace ductile {
namespace {

// ---- Columns ------------------------------------------------------------------------------------

// The numbers themselves: the array keeps them alive.
template <class T>
py::array array_of(std::vector<T>&& values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  const auto* const at = owned->data();
  const auto size = static_cast<py::ssize_t>(owned->size());
  py::capsule owner(owned.get(), [](void* its) { delete static_cast<std::vector<T>*>(its); });
  owned.release();
  return py::array_t<T>({size}, {static_cast<py::ssize_t>(sizeof(T))}, at, owner);
}

template <class T, class Row, class Get>
py::array column(const std::vector<Row>& rows, Get get) {
  std::vector<T> values;
  values.reserve(rows.size());
  for (const Row& row : rows) values.push_back(static_cast<T>(get(row)));
  return array_of(std::move(values));
}

template <std::size_t N>
std::vector<std::string> words_of(const std::array<std::string_view, N>& words) {
  return {words.begin(), words.end()};
}

// ---- Workloads ----------------------------------------------------------------------------------

constexpr double kLongest_s = 1e12;

[[noreturn]] void wrong_row(const char* column, std::size_t row, double value,
                            const std::string& remedy) {
  throw InputError({.field = fmt::format("{}[{}]", column, row)},
                   fmt::format("{} is not possible", value), remedy);
}

// A column that was given, as numbers; or none.
class Given {
 public:
  Given(const py::dict& columns, const char* name) : name_(name) {
    if (!columns.contains(name) || columns[name].is_none()) return;
    const Array values = Array::ensure(columns[name]);
    if (!values) {
      PyErr_Clear();
      throw InputError({.field = name}, "is no column of numbers", "give a list or a numpy array");
    }
    if (values.ndim() != 1) {
      throw InputError({.field = name}, "is no column", "give an array of one dimension");
    }
    size_ = static_cast<std::size_t>(values.size());
    values_ = values;
    data_ = values.data();
  }
  bool is_there() const { return static_cast<bool>(values_); }
  std::size_t size() const { return size_; }
  const char* name() const { return name_; }
  double operator[](std::size_t row) const { return data_[row]; }
  // Seconds.
  Duration time(std::size_t row, double least) const {
    const double value = (*this)[row];
    if (!(value >= least && value <= kLongest_s)) {
      wrong_row(name_, row, value, fmt::format("give seconds from {} to {:g}", least, kLongest_s));
    }
    return seconds(value);
  }
  std::uint64_t whole(std::size_t row, double least, double most) const {
    const double value = (*this)[row];
    if (!(value >= least && value <= most) || value != std::floor(value)) {
      wrong_row(name_, row, value, fmt::format("give whole numbers from {} to {}", least, most));
    }
    return static_cast<std::uint64_t>(value);
  }

 private:
  using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;

  const char* name_;
  py::object values_{};
  const double* data_ = nullptr;
  std::size_t size_ = 0;
};

constexpr double kMost = 4e9;  // of what is counted by 32 bits

// Each job has a number of its own.
void check_numbers(const std::vector<WorkloadJob>& jobs) {
  std::unordered_set<std::uint64_t> seen;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (seen.insert(jobs[i].name).second) continue;
    throw InputError({.field = fmt::format("number[{}]", i)},
                     fmt::format("{} is there twice", jobs[i].name),
                     "give each job a number of its own");
  }
}

// Of the machine.
constexpr std::int64_t kMostNodes = 1 << 24, kMostCores = 1 << 20;
std::uint32_t machine_number(const char* name, std::int64_t value, std::int64_t most) {
  if (value >= 1 && value <= most) return static_cast<std::uint32_t>(value);
  throw InputError({.field = name}, fmt::format("{} is not possible", value),
                   fmt::format("give a whole number from 1 to {}", most));
}

ReadyWorkload workload_from_columns(const py::dict& columns, std::int64_t nodes_of_machine,
                                    std::int64_t cores, const std::string& name,
                                    bool extends_walltime) {
  const Nodes nodes = machine_number("nodes_of_machine", nodes_of_machine, kMostNodes);
  const std::uint32_t cores_per_node = machine_number("cores_per_node", cores, kMostCores);
  constexpr std::array kNames{"number", "submit", "runtime", "walltime", "nodes",
                              "user",   "group",  "min",     "max",      "priority"};
  for (const auto& [key, value] : columns) {
    const auto word = py::cast<std::string>(key);
    if (std::ranges::find(kNames, word) == kNames.end() && word != "type") {
      throw InputError({.field = word}, "is no column of a workload",
                       fmt::format("there are {}, type", fmt::join(kNames, ", ")));
    }
  }
  const Given number(columns, "number"), submit(columns, "submit"), runtime(columns, "runtime"),
      walltime(columns, "walltime"), size(columns, "nodes"), user(columns, "user"),
      group(columns, "group"), least(columns, "min"), most(columns, "max"),
      priority(columns, "priority");
  for (const Given* its : {&submit, &runtime, &size}) {
    if (!its->is_there()) {
      throw InputError({.field = its->name()}, "is missing",
                       "give at least submit, runtime, nodes");
    }
  }
  const std::size_t jobs = submit.size();
  std::vector<std::string> types;
  if (columns.contains("type") && !columns["type"].is_none()) {
    for (const auto& each : columns["type"]) types.push_back(py::cast<std::string>(py::str(each)));
    if (types.size() != jobs) {
      throw InputError({.field = "type"}, fmt::format("has {} rows, submit {}", types.size(), jobs),
                       "give columns of one length");
    }
  }
  for (const Given* its :
       {&number, &runtime, &walltime, &size, &user, &group, &least, &most, &priority}) {
    if (its->is_there() && its->size() != jobs) {
      throw InputError({.field = its->name()},
                       fmt::format("has {} rows, submit {}", its->size(), jobs),
                       "give columns of one length");
    }
  }
  auto workload = std::make_shared<Workload>();
  workload->name = name;
  workload->jobs.reserve(jobs);
  for (std::size_t i = 0; i < jobs; ++i) {
    WorkloadJob job;
    job.name = number.is_there() ? number.whole(i, 0, 9e15) : i + 1;
    job.submit = Time{} + submit.time(i, 0);
    job.runtime = runtime.time(i, 1e-6);
    job.walltime = walltime.is_there() ? walltime.time(i, 1e-6) : job.runtime;
    if (extends_walltime && job.walltime < job.runtime) {
      job.walltime = job.runtime;
      ++workload->walltime_raised;
    }
    job.nodes = static_cast<Nodes>(size.whole(i, 1, nodes));
    if (user.is_there()) job.user = static_cast<std::uint32_t>(user.whole(i, 0, kMost));
    if (group.is_there()) job.group = static_cast<std::uint32_t>(group.whole(i, 0, kMost));
    AdaptiveJob more;
    more.size = {least.is_there() ? static_cast<Nodes>(least.whole(i, 1, job.nodes)) : job.nodes,
                 most.is_there() ? static_cast<Nodes>(most.whole(i, job.nodes, nodes)) : job.nodes};
    more.type = more.size == exactly(job.nodes) ? JobType::rigid : JobType::malleable;
    if (!types.empty()) {
      const auto word = std::ranges::find(kJobTypeWords, types[i]);
      if (word == kJobTypeWords.end()) {
        throw InputError({.field = fmt::format("type[{}]", i)},
                         fmt::format("there is no '{}'", types[i]),
                         fmt::format("use one of {}", fmt::join(kJobTypeWords, ", ")));
      }
      more.type = static_cast<JobType>(word - kJobTypeWords.begin());
      if (more.type == JobType::rigid && more.size != exactly(job.nodes)) {
        throw InputError({.field = fmt::format("type[{}]", i)}, "a rigid job has one size",
                         "leave min and max at nodes, or name another type");
      }
    }
    if (priority.is_there()) {
      const double value = priority[i];
      if (!(std::abs(value) <= 1e9) || value != std::floor(value)) {
        wrong_row("priority", i, value, "give whole numbers");
      }
      more.priority = static_cast<std::int32_t>(value);
    }
    if (more.type != JobType::rigid || more.priority != 0) {
      job.adaptive = static_cast<std::uint32_t>(workload->adaptive.size());
      workload->adaptive.push_back(std::move(more));
    }
    workload->jobs.push_back(job);
  }
  if (number.is_there()) check_numbers(workload->jobs);
  std::ranges::stable_sort(workload->jobs, {}, &WorkloadJob::submit);
  return {std::move(workload), nodes, cores_per_node, {}};
}

py::dict columns_of(const Workload& workload) {
  const std::vector<WorkloadJob>& jobs = workload.jobs;
  const auto more = [&](const WorkloadJob& job) {
    return job.adaptive == WorkloadJob::kRigid ? nullptr : &workload.adaptive[job.adaptive];
  };
  const auto size = [&](const WorkloadJob& job) {
    const AdaptiveJob* const its = more(job);
    return its && its->type != JobType::rigid ? its->size : exactly(job.nodes);
  };
  py::dict columns;
  columns["number"] = column<std::int64_t>(jobs, [](const auto& job) { return job.name; });
  columns["submit"] = column<double>(jobs, [](const auto& job) { return to_seconds(job.submit); });
  columns["runtime"] =
      column<double>(jobs, [](const auto& job) { return to_seconds(job.runtime); });
  columns["walltime"] =
      column<double>(jobs, [](const auto& job) { return to_seconds(job.walltime); });
  columns["nodes"] = column<std::int64_t>(jobs, [](const auto& job) { return job.nodes; });
  columns["user"] = column<std::int64_t>(jobs, [](const auto& job) { return job.user; });
  columns["group"] = column<std::int64_t>(jobs, [](const auto& job) { return job.group; });
  columns["min"] = column<std::int64_t>(jobs, [&](const auto& job) { return size(job).min; });
  columns["max"] = column<std::int64_t>(jobs, [&](const auto& job) { return size(job).max; });
  columns["priority"] = column<std::int64_t>(
      jobs, [&](const auto& job) { return more(job) ? more(job)->priority : 0; });
  columns["type"] = column<std::uint8_t>(
      jobs, [&](const auto& job) { return more(job) ? more(job)->type : JobType::rigid; });
  return columns;
}

void write_workload(const ReadyWorkload& its, const std::string& path) {
  check_name_of_log(path);
  SwfHeader header;
  set_sizes(header, its.workload->jobs.size(), its.nodes, its.cores_per_node);
  header.unix_start_time = its.unix_start_time;
  std::function<void(std::ostream&)> adaptive;
  if (!its.workload->adaptive.empty()) {
    adaptive = [&](std::ostream& out) { write_adaptive(out, *its.workload, its.cores_per_node); };
  }
  write_log(
      path, [&](std::ostream& out) { write_swf(out, *its.workload, header, its.cores_per_node); },
      adaptive);
}

// ---- Runs ---------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 5> kFinalStates{"COMPLETED_SUCCESSFULLY", "COMPLETED_FAILED",
                                                       "COMPLETED_WALLTIME_REACHED",
                                                       "COMPLETED_KILLED", "REJECTED"};

// What became of a job: a row of jobs.csv.
struct JobRow {
  std::uint64_t number = 0;
  Time submit{}, start{}, end{};
  Duration walltime{}, runtime{};
  Nodes nodes = 0, start_nodes = 0, end_nodes = 0;
  std::uint32_t user = 0;
  std::uint16_t expands = 0, shrinks = 0, restarts = 0;
  JobType type = JobType::rigid;
  std::uint8_t state = 0;  // of kFinalStates
  Why why = Why::infeasible;
  bool is_over = false, has_run = false;
};

class JobRows final : public Observer {
 public:
  void on_decision(Time, const Decision& decision, const Core&) override {
    if (decision.kind == Decision::Kind::start || decision.kind == Decision::Kind::reject) {
      row(decision.job).why = decision.reason.why;
    }
  }
  void on_event(Time, const Event&, bool, const Core&) override {}
  void on_end(Time now, JobId id, const WorkloadJob& job, EndState state, bool requeued,
              const Core& core) override {
    if (requeued) return;
    JobRow& its = row(id);
    its.is_over = true;
    its.number = job.name;
    its.submit = job.submit;
    its.walltime = job.walltime;
    its.runtime = job.runtime;
    its.nodes = job.nodes;
    its.user = job.user;
    const Job* const record = core.state().jobs.contains(id) ? &core.job(id) : nullptr;
    if (record) its.type = record->spec.type;
    if (!record || record->status != Status::running) {
      its.state = 4;
      return;
    }
    its.has_run = true;
    its.state = state == EndState::completed ? 0
                : state == EndState::failed  ? 1
                : state == EndState::timeout ? 2
                                             : 3;
    its.start = record->started;
    its.end = now;
    its.start_nodes = record->first_size;
    const Unanswered* const open = core.state().find(record->decision);
    its.end_nodes =
        open && open->decision.kind == Decision::Kind::resize ? open->before.count : record->size();
    its.expands = record->expands;
    its.shrinks = record->shrinks;
    its.restarts = record->restarts;
  }

  py::dict columns() {
    std::erase_if(rows_, [](const JobRow& its) { return !its.is_over; });
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    const auto if_run = [&](auto get) {
      return column<double>(
          rows_, [&](const JobRow& its) { return its.has_run ? to_seconds(get(its)) : kNone; });
    };
    py::dict all;
    all["job_id"] = column<std::int64_t>(rows_, [](const auto& its) { return its.number; });
    all["profile"] = column<std::uint8_t>(rows_, [](const auto& its) { return its.type; });
    all["submission_time"] =
        column<double>(rows_, [](const auto& its) { return to_seconds(its.submit); });
    all["requested_number_of_resources"] =
        column<std::int64_t>(rows_, [](const auto& its) { return its.nodes; });
    all["requested_time"] =
        column<double>(rows_, [](const auto& its) { return to_seconds(its.walltime); });
    all["success"] = column<std::int64_t>(rows_, [](const auto& its) { return its.state == 0; });
    all["final_state"] = column<std::uint8_t>(rows_, [](const auto& its) { return its.state; });
    all["starting_time"] = if_run([](const JobRow& its) { return its.start; });
    all["execution_time"] = if_run([](const JobRow& its) { return its.end - its.start; });
    all["finish_time"] = if_run([](const JobRow& its) { return its.end; });
    all["waiting_time"] = if_run([](const JobRow& its) { return its.start - its.submit; });
    all["turnaround_time"] = if_run([](const JobRow& its) { return its.end - its.submit; });
    all["stretch"] = column<double>(rows_, [&](const JobRow& its) {
      return its.end > its.start
                 ? to_seconds(its.end - its.submit) / to_seconds(its.end - its.start)
                 : kNone;
    });
    all["user"] = column<std::int64_t>(rows_, [](const auto& its) { return its.user; });
    all["start_nodes"] =
        column<std::int64_t>(rows_, [](const auto& its) { return its.start_nodes; });
    all["end_nodes"] = column<std::int64_t>(rows_, [](const auto& its) { return its.end_nodes; });
    all["expands"] = column<std::int64_t>(rows_, [](const auto& its) { return its.expands; });
    all["shrinks"] = column<std::int64_t>(rows_, [](const auto& its) { return its.shrinks; });
    all["restarts"] = column<std::int64_t>(rows_, [](const auto& its) { return its.restarts; });
    all["reason"] = column<std::uint8_t>(rows_, [](const auto& its) { return its.why; });
    all["static_runtime"] =
        column<double>(rows_, [](const auto& its) { return to_seconds(its.runtime); });
    return all;
  }

 private:
  JobRow& row(JobId id) {
    if (rows_.size() <= index(id)) rows_.resize(index(id) + 1);
    return rows_[index(id)];
  }

  std::vector<JobRow> rows_;  // by JobId
};

// The policies of the command line, and those written in Python: by their names, or `object`.
Registry registry_with(const py::object& object) {
  Registry registry;
  registry.outside.push_back(python_policies());
  if (object.is_none()) return registry;
  registry.outside.back().make = [policy = python_policy(object)](const auto&, const auto&) {
    return policy;
  };
  return registry;
}

// Asked between two jobs or so: did the user press Ctrl-C?
void check_signals(std::atomic<bool>& stop) {
  const WithLock lock;
  if (PyErr_CheckSignals() != 0) {
    PyErr_Clear();
    stop = true;
  }
}

// A summary as JSON, and the columns of its jobs.
py::tuple simulate_run(std::vector<std::string> options, const ReadyWorkload* workload,
                       const py::object& policy) {
  const Called called;
  py::module_::import("numpy");  // which would not bear to be ended while it is loaded
  const Registry registry = registry_with(policy);
  JobRows rows;
  std::atomic<bool> stop = false;
  Summary summary;
  try {
    const WithoutLock free;
    summary = simulate_called({.options = std::move(options),
                               .workload = workload,
                               .observer = &rows,
                               .stop = &stop,
                               .progress = [&] { check_signals(stop); }},
                              registry);
  } catch (const Stopped&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw py::error_already_set();
  }
  return py::make_tuple(to_json(summary), rows.columns());
}

std::string explain_job(const std::string& log, std::int64_t number, bool as_json) {
  if (number < 0) {
    throw InputError({log}, fmt::format("it has no job {}", number), "name another one");
  }
  const auto job = static_cast<std::uint64_t>(number);
  const Called called;
  const WithoutLock free;
  Explainer explainer(job, simulated_time);
  fold(*open_log(log), log, explainer);
  Explanation explanation = explainer.explanation();
  if (!explanation.is_known) {
    throw InputError({log}, fmt::format("it has no job {}", job), "name another one");
  }
  return as_json ? to_json(explanation) : to_text(explanation, simulated_time);
}

py::dict replay_log(const std::string& log, bool asks) {
  const Called called;
  Replayed done;
  const Registry registry = registry_with(py::none());
  {
    const WithoutLock free;
    Observer nobody;
    const auto in = open_log(log);
    done = asks ? replay(*in, log, maker_for(log, registry)) : fold(*in, log, nobody);
  }
  py::dict its;
  its["log"] = log;
  its["policy"] = done.policy;
  its["events"] = done.events;
  its["instants"] = done.instants;
  its["pen_calls"] = done.pen_calls;
  its["decisions"] = done.decisions;
  its["last_s"] = to_seconds(done.last);
  return its;
}

// ---- Errors -------------------------------------------------------------------------------------

// In the words of the command line; what a policy raised is its cause. An interrupt stays one.
void raise_error(const std::exception& error, PyObject* type) {
  const py::object raised = py::handle(type)(py::str(error.what()));
  if (const auto* const of_policy = dynamic_cast<const PolicyRaised*>(&error)) {
    py::object cause = of_policy->cause();
    if (PyExceptionInstance_Check(cause.ptr())) {
      if (!PyErr_GivenExceptionMatches(cause.ptr(), PyExc_Exception)) {
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(cause.ptr())), cause.ptr());
        return;
      }
      PyException_SetCause(raised.ptr(), cause.release().ptr());
    }
  }
  PyErr_SetObject(type, raised.ptr());
}

}  // namespace
}  // namespace ductile

PYBIND11_MODULE(_ductile, module) {
  using namespace ductile;
  process_seconds();
  module.doc() = "The C++ of the module ductile.";
  module.attr("version") = DUCTILE_VERSION;

  static PyObject* const error =
      PyErr_NewExceptionWithDoc("ductile.Error",
                                "The call or its input was wrong, in the words of the command "
                                "line: where, what is wrong; what to do.",
                                PyExc_ValueError, nullptr);
  module.attr("Error") = py::handle(error);
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const InputError& its) {
      raise_error(its, error);
    } catch (const CLI::ParseError& its) {
      raise_error(its, error);
    } catch (const RunError& its) {
      raise_error(its, PyExc_RuntimeError);
    }
  });

  py::class_<ReadyWorkload>(module, "Workload")
      .def_static("of_options", &ready_workload, py::call_guard<Called, WithoutLock>())
      .def_static("of_columns", &workload_from_columns, py::call_guard<Called>())
      .def(
          "columns", [](const ReadyWorkload& its) { return columns_of(*its.workload); },
          py::call_guard<Called>())
      .def("write", &write_workload, py::call_guard<Called>())
      .def("__len__", [](const ReadyWorkload& its) { return its.workload->jobs.size(); })
      .def_property_readonly("name", [](const ReadyWorkload& its) { return its.workload->name; })
      .def_readonly("nodes", &ReadyWorkload::nodes)
      .def_readonly("cores_per_node", &ReadyWorkload::cores_per_node);
  module.def("simulate", &simulate_run);
  module.def("explain", &explain_job);
  module.def("replay", &replay_log);
  module.def("policies", [] {
    std::map<std::string, std::string> all;
    for (const PolicyInfo& its : Registry().policies) all[its.name] = its.summary;
    return all;
  });
  module.def("models", [] {
    std::map<std::string, std::string> all;
    for (const WorkloadModel& its : workload_models()) all[std::string(its.name)] = its.about;
    return all;
  });
  module.attr("JOB_TYPES") = words_of(kJobTypeWords);
  module.attr("FINAL_STATES") = words_of(kFinalStates);
  module.attr("REASONS") = words_of(kWhyWords);
  add_policy_types(module);
  see_to_the_end();
}
