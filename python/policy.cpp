#include "python/policy.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pthread.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include "base/text.hpp"
#include "cli/python_policies.hpp"
#include "python/lock.hpp"
#include "scheduling/blocks.hpp"
#include "scheduling/event.hpp"
#include "scheduling/fair_grants.hpp"
#include "scheduling/record.hpp"
#include "scheduling/resizing.hpp"

namespace py = pybind11;

// The types are made by hand, since a pass of a short queue is a few calls, and each of them would
// take several times as long through pybind11.

namespace ductile {
namespace {

struct ViewObject;
struct TimelineObject;

// What a pass is to Python. It is used up when the pass is over: `pass` is null then.
struct ViewObject {
  PyObject_HEAD;
  Pass* pass;
  TimelineObject* plans;  // those that live
  RequestId unfair;       // was refused last because of that
};

struct JobObject {
  PyObject_HEAD;
  ViewObject* view;
  JobId id;
};

struct RequestObject {
  PyObject_HEAD;
  ViewObject* view;
  Request its;
};

struct ClaimObject {
  PyObject_HEAD;
  ViewObject* view;
  ClaimId id;
};

struct QueueObject {
  PyObject_HEAD;
  ViewObject* view;
};

struct QueueIterator {
  PyObject_HEAD;
  ViewObject* view;
  JobId at;
  bool is_over;
};

// A plan: what is believed to be free, without what is reserved in it.
struct Plan {
  explicit Plan(Timeline what) : timeline(std::move(what)) {}

  Timeline timeline;
  JobId last = JobId::none;  // who was reserved last, and when
  Time at = kNever;
  std::optional<FreeCells> free;  // what it leaves now, when it was asked
  JobId found = JobId::none;      // fits into that, as was said last, and where
  Spread in;
  bool is_true = true;  // nothing but starts happened since
};

struct TimelineObject {
  PyObject_HEAD;
  ViewObject* view;
  TimelineObject* next;  // of those of the view
  Plan* plan;
};

struct FittingIterator {
  PyObject_HEAD;
  TimelineObject* timeline;
  FitSearch* search;
};

PyTypeObject* view_type;
PyTypeObject* job_type;
PyTypeObject* request_type;
PyTypeObject* claim_type;
PyTypeObject* queue_type;
PyTypeObject* queue_iterator_type;
PyTypeObject* timeline_type;
PyTypeObject* fitting_type;
PyObject* error_type;  // ductile.Error

// ---- Help ---------------------------------------------------------------------------------------

// What a policy did that is not possible: raised where it did.
struct Wrong {
  std::string what;
};
// A Python exception is set.
struct Raised {};

// A copy of a list, or null after an error: what Python does meanwhile does not change it.
PyObject* items_of(PyObject* list, const char* message) {
  PyObject* const fast = PySequence_Fast(list, message);
  if (!fast) return nullptr;
  PyObject* const copy = PySequence_Tuple(fast);
  Py_DECREF(fast);
  return copy;
}

template <class Function>
PyObject* guarded(Function function) {
  try {
    return function();
  } catch (const Wrong& wrong) {
    PyErr_SetString(error_type, wrong.what.c_str());
  } catch (const Raised&) {
  } catch (const std::exception& error) {
    PyErr_SetString(error_type, error.what());
  }
  return nullptr;
}

Pass& pass_of(const ViewObject* view) {
  if (!view->pass)
    throw Wrong{"the pass is over; a view, and its jobs, are of one call of schedule"};
  return *view->pass;
}

template <class T>
T* make(PyTypeObject* type) {
  auto* const object = PyObject_New(T, type);
  if (!object) throw Raised{};
  return object;
}

ViewObject* kept(ViewObject* view) {
  Py_INCREF(reinterpret_cast<PyObject*>(view));
  return view;
}

PyObject* job_object(ViewObject* view, JobId id) {
  auto* const job = make<JobObject>(job_type);
  job->view = kept(view);
  job->id = id;
  return reinterpret_cast<PyObject*>(job);
}

PyObject* job_or_none(ViewObject* view, JobId id) {
  if (id == JobId::none) Py_RETURN_NONE;
  return job_object(view, id);
}

PyObject* number(std::int64_t value) { return PyLong_FromLongLong(value); }
PyObject* seconds_object(Time time) {
  if (time == kNever) return PyFloat_FromDouble(std::numeric_limits<double>::infinity());
  return PyFloat_FromDouble(to_seconds(time));
}
PyObject* seconds_object(Duration time) { return PyFloat_FromDouble(to_seconds(time)); }
PyObject* truth(bool value) { return PyBool_FromLong(value); }
PyObject* text(std::string_view words) {
  return PyUnicode_FromStringAndSize(words.data(), static_cast<Py_ssize_t>(words.size()));
}

template <class Ids, class Make>
PyObject* list_of(const Ids& ids, Make make_one) {
  PyObject* const list = PyList_New(static_cast<Py_ssize_t>(ids.size()));
  if (!list) throw Raised{};
  Py_ssize_t i = 0;
  for (const auto& each : ids) PyList_SET_ITEM(list, i++, make_one(each));
  return list;
}

std::string name_of(const Pass& pass, JobId id) {
  return pass.knows(id) ? std::to_string(pass.job(id).spec.name) : "that is over";
}

// The arguments of a call, by place and by name.
template <std::size_t N>
using Names = std::array<const char*, N>;

template <std::size_t N>
std::array<PyObject*, N> arguments(const Names<N>& names, std::size_t needed,
                                   PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  std::array<PyObject*, N> all{};
  if (count > static_cast<Py_ssize_t>(N)) {
    throw Wrong{"at most " + std::to_string(N) + " arguments are possible"};
  }
  std::copy_n(given, count, all.begin());
  const Py_ssize_t more = keywords ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < more; ++i) {
    PyObject* const word = PyTuple_GET_ITEM(keywords, i);
    const auto at = std::ranges::find_if(
        names, [&](const char* name) { return PyUnicode_CompareWithASCIIString(word, name) == 0; });
    if (at == names.end()) {
      throw Wrong{std::string("there is no argument '") + PyUnicode_AsUTF8(word) + "'"};
    }
    all[static_cast<std::size_t>(at - names.begin())] = given[count + i];
  }
  for (std::size_t i = 0; i < needed; ++i) {
    if (!all[i]) throw Wrong{std::string("the argument '") + names[i] + "' is missing"};
  }
  for (PyObject*& each : all) {
    if (each == Py_None) each = nullptr;
  }
  return all;
}

JobId job_of(PyObject* object, const ViewObject* view) {
  if (!object || Py_TYPE(object) != job_type) {
    throw Wrong{std::string("this is no job of the view, but of type ") +
                (object ? Py_TYPE(object)->tp_name : "NoneType")};
  }
  const auto* const job = reinterpret_cast<JobObject*>(object);
  if (job->view != view) throw Wrong{"this job is of another pass; take it from the view again"};
  if (!pass_of(view).knows(job->id)) throw Wrong{"this job is over"};
  return job->id;
}

Nodes nodes_of(PyObject* object) {
  const long long value = PyLong_AsLongLong(object);
  if (value == -1 && PyErr_Occurred()) throw Raised{};
  if (value < 0 || value > std::numeric_limits<std::int32_t>::max()) {
    throw Wrong{std::to_string(value) + " is no number of nodes"};
  }
  return static_cast<Nodes>(value);
}

// That a job has while it runs.
Nodes some_nodes_of(PyObject* object) {
  const Nodes n = nodes_of(object);
  if (n == 0) throw Wrong{"a job runs on 1 node at least"};
  return n;
}

// A number of nodes, or a pair: from so many to so many.
SizeRange size_of(PyObject* object) {
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 2) return exactly(nodes_of(object));
  return {nodes_of(PyTuple_GET_ITEM(object, 0)), nodes_of(PyTuple_GET_ITEM(object, 1))};
}

double number_of(PyObject* object) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1 && PyErr_Occurred()) throw Raised{};
  return value;
}

Duration duration_of(PyObject* object) {
  const double value = number_of(object);
  if (!(value >= 0 && value <= 1e12)) throw Wrong{std::to_string(value) + " is no time in seconds"};
  return seconds(value);
}
Time time_of(PyObject* object) { return Time{} + duration_of(object); }

template <std::size_t N>
std::size_t word_of(PyObject* object, const std::array<std::string_view, N>& words) {
  Py_ssize_t size = 0;
  const char* const its = PyUnicode_AsUTF8AndSize(object, &size);
  if (!its) throw Raised{};
  const auto at = std::ranges::find(words, std::string_view(its, static_cast<std::size_t>(size)));
  if (at == words.end()) {
    std::vector<std::string> all(words.begin(), words.end());
    throw Wrong{std::string("there is no '") + its + "'; use one of " + listed(all)};
  }
  return static_cast<std::size_t>(at - words.begin());
}

Reason reason_of(PyObject* word, PyObject* whom, Why usual, const ViewObject* view) {
  Reason reason{word ? static_cast<Why>(word_of(word, kWhyWords)) : usual};
  if (whom) reason.job = job_of(whom, view);
  return reason;
}

// [(job, size), ...]
std::vector<Cut> cuts_of(PyObject* object, const ViewObject* view) {
  std::vector<Cut> cuts;
  if (!object) return cuts;
  const py::object fast =
      py::reinterpret_steal<py::object>(items_of(object, "cuts are a list of pairs (job, nodes)"));
  if (!fast) throw Raised{};
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.ptr()); ++i) {
    PyObject* const pair = PySequence_Fast_GET_ITEM(fast.ptr(), i);
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
      throw Wrong{"cuts are a list of pairs (job, nodes)"};
    }
    cuts.push_back({job_of(PyTuple_GET_ITEM(pair, 0), view), nodes_of(PyTuple_GET_ITEM(pair, 1))});
  }
  return cuts;
}

bool is_true(PyObject* object) {
  const int is = object ? PyObject_IsTrue(object) : 0;
  if (is < 0) throw Raised{};
  return is == 1;
}

// ---- Plans follow starts ------------------------------------------------------------------------

Duration believed_length(const Pass& pass, JobId id) { return pass.expected_end(id) - pass.now(); }

// Of a start that took idle nodes only; other calls end what plans know.
void plans_took(ViewObject* view, JobId id, Nodes n, const Spread& in) {
  for (TimelineObject* each = view->plans; each; each = each->next) {
    Plan& plan = *each->plan;
    const Pass& pass = *view->pass;
    const Demand demand = pass.demand(id, n);
    Spread its = in;
    if (its.empty() && plan.timeline.by_cell()) {
      plan.is_true = false;  // nobody said of which cells
      continue;
    }
    if (plan.free) plan.free->take(demand, its, believed_length(pass, id));
    plan.timeline.took(demand, its);
  }
}

void plans_end(ViewObject* view) {
  for (TimelineObject* each = view->plans; each; each = each->next) each->plan->is_true = false;
}

// Where a plan has said that this job fits.
const Plan* plan_of(const ViewObject* view, JobId id) {
  for (TimelineObject* each = view->plans; each; each = each->next) {
    if (each->plan->is_true && each->plan->found == id) return each->plan;
  }
  return nullptr;
}

// ---- The pen ------------------------------------------------------------------------------------

std::string idle_text(const Pass& pass, JobId id) {
  return std::to_string(pass.idle(id)) + " idle nodes it can use";
}

// Why a start is not possible.
std::string why_no_start(const Pass& pass, JobId id, SizeRange size) {
  const std::string job = "job " + name_of(pass, id);
  const Job& its = pass.job(id);
  if (its.status == Status::running) return job + " runs already";
  if (its.claim != ClaimId::none) return job + " waits for nodes that it was promised already";
  if (its.status != Status::pending) return job + " is held";
  if (pass.now() < its.not_before) {
    return job + " is to be left alone until " + std::to_string(to_seconds(its.not_before)) + " s";
  }
  const SizeRange allowed =
      sizes_at_start(its.spec.type) ? its.spec.size : exactly(its.spec.preferred);
  if (!allowed.contains(size.min) || !allowed.contains(size.max)) {
    return job + " cannot start on " + std::to_string(size.min) + " nodes: it may have " +
           (allowed.min == allowed.max
                ? std::to_string(allowed.min)
                : std::to_string(allowed.min) + " to " + std::to_string(allowed.max));
  }
  return job + " cannot start on " + std::to_string(size.min) + " nodes now: there are " +
         idle_text(pass, id);
}

constexpr Names<6> kStartNames{"job", "nodes", "reason", "because_of", "cuts", "incoming"};

// False: not possible.
bool start(ViewObject* view, const std::array<PyObject*, 6>& all, bool must) {
  Pass& pass = pass_of(view);
  const JobId id = job_of(all[0], view);
  const SizeRange size = all[1] ? size_of(all[1]) : exactly(pass.start_need(id).nodes);
  const Plan* const plan = plan_of(view, id);
  const Reason reason = reason_of(all[2], all[3], plan ? Why::backfilled : Why::in_order, view);
  const bool is_simple = !all[4] && !all[5];
  bool done = false;
  if (is_simple) {
    const Spread in = plan ? plan->in : Spread{};
    done = pass.start(id, size, reason, {.in = in.empty() ? nullptr : &in});
    if (done && view->plans) plans_took(view, id, pass.job(id).size(), in);
  } else {
    const std::vector<Cut> cuts = cuts_of(all[4], view);
    done = pass.start(id, size, reason, {cuts, is_true(all[5])});
    if (done) plans_end(view);
  }
  if (!done && must) {
    throw Wrong{why_no_start(pass, id, size) + (is_simple ? "" : ", and with its sources too few") +
                "; ask view.fits, or call try_start"};
  }
  return done;
}

constexpr Names<6> kResizeNames{"job", "nodes", "reason", "because_of", "cuts", "incoming"};

bool resize(ViewObject* view, const std::array<PyObject*, 6>& all, bool must) {
  Pass& pass = pass_of(view);
  const JobId id = job_of(all[0], view);
  const SizeRange size = size_of(all[1]);
  const bool grows = size.max > pass.job(id).size();
  const Reason reason = reason_of(all[2], all[3], grows ? Why::hand_out : Why::shrunk_for, view);
  const std::vector<Cut> cuts = cuts_of(all[4], view);
  const bool done = pass.resize(id, size, reason, {cuts, is_true(all[5])});
  if (done) plans_end(view);
  if (!done && must) {
    const Job& its = pass.job(id);
    const std::string job = "job " + name_of(pass, id);
    const SizeRange may = its.spec.size;
    throw Wrong{(its.status != Status::running ? job + " does not run"
                 : !pass.resizable(id) && !pass.growable(id) && !pass.cuttable(id)
                     ? job + " cannot be resized now"
                     : job + " cannot be resized from " + std::to_string(its.size()) + " to " +
                           std::to_string(size.max) + " nodes: it may have " +
                           std::to_string(may.min) + " to " + std::to_string(may.max) +
                           ", and there are " + idle_text(pass, id)) +
                "; ask job.resizable, or call try_resize"};
  }
  return done;
}

constexpr Names<5> kGrantNames{"request", "reason", "cuts", "incoming", "extra_is_free"};

const Request& request_of(PyObject* object, const ViewObject* view) {
  if (!object || Py_TYPE(object) != request_type) throw Wrong{"this is no request of the view"};
  const auto* const request = reinterpret_cast<RequestObject*>(object);
  if (request->view != view) throw Wrong{"this request is of another pass"};
  return request->its;
}

bool grant(ViewObject* view, const std::array<PyObject*, 5>& all, bool must) {
  Pass& pass = pass_of(view);
  const Request& request = request_of(all[0], view);
  const std::vector<Cut> cuts = cuts_of(all[2], view);
  const Why why = reason_of(all[1], nullptr, Why::evolving, view).why;
  const Grant result =
      grant_fairly(pass, request, {.extra_is_free = is_true(all[4])}, {cuts, is_true(all[3])}, why);
  const bool done = result == Grant::done;
  if (done) plans_end(view);
  if (result == Grant::unfair) view->unfair = request.id;
  if (!done && must) {
    if (result == Grant::unfair) {
      throw Wrong{"the request of job " + name_of(pass, request.job) + " for " +
                  std::to_string(request.delta) +
                  " nodes would delay others by more than is fair; call try_grant"};
    }
    throw Wrong{"the request of job " + name_of(pass, request.job) + " for " +
                std::to_string(request.delta) + " nodes cannot be granted now: there are " +
                idle_text(pass, request.job) + "; call try_grant"};
  }
  return done;
}

// ---- The view: methods --------------------------------------------------------------------------

ViewObject* view_of(PyObject* self) { return reinterpret_cast<ViewObject*>(self); }

// A method whose arguments have names.
template <const auto& Names_, std::size_t Needed, auto Do>
PyObject* method(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  return guarded(
      [&] { return Do(view_of(self), arguments(Names_, Needed, given, count, keywords)); });
}

template <auto Method>
PyMethodDef fast(const char* name, const char* about) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(Method)),
          METH_FASTCALL | METH_KEYWORDS, about};
}

using Six = std::array<PyObject*, 6>;
using Five = std::array<PyObject*, 5>;
using Four = std::array<PyObject*, 4>;
using Three = std::array<PyObject*, 3>;
using Two = std::array<PyObject*, 2>;
using One = std::array<PyObject*, 1>;

PyObject* done() { Py_RETURN_NONE; }

PyObject* do_start(ViewObject* view, const Six& all) { return start(view, all, true), done(); }
PyObject* do_try_start(ViewObject* view, const Six& all) { return truth(start(view, all, false)); }
PyObject* do_resize(ViewObject* view, const Six& all) { return resize(view, all, true), done(); }
PyObject* do_try_resize(ViewObject* view, const Six& all) {
  return truth(resize(view, all, false));
}
PyObject* do_grant(ViewObject* view, const Five& all) { return grant(view, all, true), done(); }
PyObject* do_try_grant(ViewObject* view, const Five& all) { return truth(grant(view, all, false)); }

constexpr Names<0> kNoNames{};
constexpr Names<2> kDenyNames{"request", "reason"};
PyObject* do_deny(ViewObject* view, const Two& all) {
  const Request& request = request_of(all[0], view);
  Pass& pass = pass_of(view);
  const Why usual = request.id == view->unfair ? Why::fairness : Why::resources;
  if (!pass.deny(request.id, reason_of(all[1], nullptr, usual, view))) {
    throw Wrong{"the request of job " + name_of(pass, request.job) +
                " cannot be answered now: it was already, or another one of this job was; take "
                "view.requests anew"};
  }
  return done();
}

constexpr Names<3> kStopNames{"job", "how", "reason"};
PyObject* do_stop(ViewObject* view, const Three& all) {
  Pass& pass = pass_of(view);
  const JobId id = job_of(all[0], view);
  const auto how = static_cast<Stop>(word_of(all[1], kStopWords));
  if (!pass.stop(id, how, reason_of(all[2], nullptr, Why::resources, view))) {
    const Job& its = pass.job(id);
    const std::string why = its.status != Status::running ? "it does not run"
                            : its.doing != Doing::nothing ? "a decision about it is under way"
                                                          : "this world cannot do that";
    throw Wrong{"job " + name_of(pass, id) + ": no " + std::string(kStopWords[index(how)]) +
                " now: " + why};
  }
  plans_end(view);
  return done();
}

constexpr Names<2> kWithdrawNames{"claim", "reason"};
PyObject* do_withdraw(ViewObject* view, const Two& all) {
  if (!all[0] || Py_TYPE(all[0]) != claim_type) throw Wrong{"this is no claim of the view"};
  const auto* const claim = reinterpret_cast<ClaimObject*>(all[0]);
  Pass& pass = pass_of(view);
  if (claim->view != view ||
      !pass.withdraw(claim->id, reason_of(all[1], nullptr, Why::resources, view))) {
    throw Wrong{"this claim is no more"};
  }
  plans_end(view);
  return done();
}

constexpr Names<2> kReserveNames{"job", "at"};
PyObject* do_reserve(ViewObject* view, const Two& all) {
  Pass& pass = pass_of(view);
  const JobId id = job_of(all[0], view);
  if (!pass.reserve(id, time_of(all[1]), {Why::resources})) {
    throw Wrong{"job " + name_of(pass, id) + " does not wait"};
  }
  return done();
}

constexpr Names<2> kTagNames{"job", "other"};
PyObject* do_tag(ViewObject* view, const Two& all) {
  const JobId other = all[1] ? job_of(all[1], view) : JobId::none;
  pass_of(view).tag(job_of(all[0], view), other);
  return done();
}

constexpr Names<1> kWakeNames{"time"};
PyObject* do_wake_by(ViewObject* view, const One& all) {
  Pass& pass = pass_of(view);
  const Time time = time_of(all[0]);
  if (!pass.wake_by(time)) {
    throw Wrong{"nobody can be woken at " + std::to_string(to_seconds(time)) + " s: it is " +
                std::to_string(to_seconds(pass.now())) + " s"};
  }
  return done();
}

constexpr Names<1> kTickNames{"period"};
PyObject* do_tick(ViewObject* view, const One& all) {
  return tick(pass_of(view), duration_of(all[0])), done();
}

// [(job or request, nodes), ...]
constexpr Names<4> kCarryNames{"cuts", "gains", "reason", "incoming"};
PyObject* do_carry_out(ViewObject* view, const Four& all) {
  Pass& pass = pass_of(view);
  const std::vector<Cut> cuts = cuts_of(all[0], view);
  std::vector<Gain> gains;
  const py::object list = py::reinterpret_steal<py::object>(
      items_of(all[1] ? all[1] : Py_None, "gains are a list of pairs (job, nodes)"));
  if (!list) throw Raised{};
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i) {
    PyObject* const each = PySequence_Fast_GET_ITEM(list.ptr(), i);
    if (Py_TYPE(each) == request_type) {
      const Request& request = request_of(each, view);
      gains.push_back({.job = request.job, .request = request.id});
    } else if (PyTuple_Check(each) && PyTuple_GET_SIZE(each) == 2) {
      gains.push_back({.job = job_of(PyTuple_GET_ITEM(each, 0), view),
                       .size = size_of(PyTuple_GET_ITEM(each, 1))});
    } else {
      throw Wrong{"gains are a list of pairs (job, nodes), and of requests"};
    }
  }
  const bool is_done =
      pass.carry_out(cuts, gains, reason_of(all[2], nullptr, Why::in_order, view), is_true(all[3]));
  if (is_done) plans_end(view);
  return truth(is_done);
}

constexpr Names<2> kFitsNames{"job", "nodes"};
PyObject* do_fits(ViewObject* view, const Two& all) {
  const Pass& pass = pass_of(view);
  const JobId id = job_of(all[0], view);
  return truth(pass.fits(id, all[1] ? nodes_of(all[1]) : pass.start_need(id).nodes));
}

constexpr Names<1> kJobNames{"job"};
PyObject* do_idle_for(ViewObject* view, const One& all) {
  return number(pass_of(view).idle(job_of(all[0], view)));
}
PyObject* do_free_for(ViewObject* view, const One& all) {
  return number(free_nodes(pass_of(view), job_of(all[0], view)));
}

constexpr Names<4> kMayNames{"job", "nodes", "cuts", "incoming"};
PyObject* do_may_expand(ViewObject* view, const Four& all) {
  const std::vector<Cut> cuts = cuts_of(all[2], view);
  return truth(may_expand(pass_of(view), job_of(all[0], view), nodes_of(all[1]), Benefit::on,
                          {cuts, is_true(all[3])}));
}

// ---- Blocks -------------------------------------------------------------------------------------

constexpr Names<1> kStrictNames{"strict"};
PyObject* do_start_in_order(ViewObject* view, const One& all) {
  start_in_order(pass_of(view), {.strict = is_true(all[0])});
  plans_end(view);
  return done();
}

constexpr Names<1> kDepthNames{"depth"};
Backfill backfill_of(PyObject* depth) {
  Backfill how;
  if (!depth) return how;
  if (PyFloat_Check(depth) && std::isinf(PyFloat_AS_DOUBLE(depth))) {
    how.reservation_depth = Backfill::kUnlimited;
  } else {
    how.reservation_depth = nodes_of(depth);
  }
  if (how.reservation_depth == 0) throw Wrong{"a depth is at least 1"};
  return how;
}
PyObject* do_backfill(ViewObject* view, const One& all) {
  backfill(pass_of(view), backfill_of(all[0]));
  plans_end(view);
  return done();
}
PyObject* do_start_and_backfill(ViewObject* view, const One& all) {
  start_and_backfill(pass_of(view), backfill_of(all[0]));
  plans_end(view);
  return done();
}

PyObject* do_grant_from_idle(ViewObject* view, const std::array<PyObject*, 0>&) {
  grant_from_idle(pass_of(view));
  plans_end(view);
  return done();
}

constexpr std::array<std::string_view, 3> kShareWords{"in_turn", "level", "even"};
constexpr Names<2> kHandOutNames{"jobs", "share"};
PyObject* do_hand_out_idle(ViewObject* view, const Two& all) {
  Pass& pass = pass_of(view);
  std::vector<JobId> jobs;
  if (all[0]) {
    const py::object list = py::reinterpret_steal<py::object>(items_of(all[0], "jobs are a list"));
    if (!list) throw Raised{};
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i) {
      const JobId id = job_of(PySequence_Fast_GET_ITEM(list.ptr(), i), view);
      if (!pass.growable(id))
        throw Wrong{"job " + name_of(pass, id) + " cannot be given nodes now"};
      jobs.push_back(id);
    }
  } else {
    jobs = growable_jobs(pass);
    std::ranges::sort(jobs);
  }
  HandOut how;
  if (all[1]) how.share = static_cast<Share>(word_of(all[1], kShareWords));
  hand_out_idle(pass, jobs, how);
  plans_end(view);
  return done();
}

constexpr Names<4> kCutsNames{"jobs", "nodes", "whom", "share"};
PyObject* do_cuts_for(ViewObject* view, const Four& all) {
  const Pass& pass = pass_of(view);
  const py::object list =
      py::reinterpret_steal<py::object>(items_of(all[0] ? all[0] : Py_None, "jobs are a list"));
  if (!list) throw Raised{};
  const JobId whom = all[2] ? job_of(all[2], view) : JobId::none;
  std::vector<JobId> jobs;
  Nodes extra = 0;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i) {
    const JobId id = job_of(PySequence_Fast_GET_ITEM(list.ptr(), i), view);
    if (!pass.cuttable(id)) throw Wrong{"job " + name_of(pass, id) + " cannot be cut now"};
    jobs.push_back(id);
    extra += extra_for(pass, id, whom);
  }
  const Nodes need = some_nodes_of(all[1]);
  if (extra < need) Py_RETURN_NONE;
  const auto share = all[3] ? static_cast<Share>(word_of(all[3], kShareWords)) : Share::in_turn;
  return list_of(cuts_for(pass, jobs, need, share, whom), [&](const Cut& cut) {
    return Py_BuildValue("(NI)", job_object(view, cut.victim), cut.to);
  });
}

PyObject* do_random(ViewObject* view, const std::array<PyObject*, 0>&) {
  return PyLong_FromUnsignedLongLong(pass_of(view).random());
}

// ---- Timelines ----------------------------------------------------------------------------------

TimelineObject* timeline_object(ViewObject* view, Backfill how = {}) {
  Pass& pass = pass_of(view);
  auto* const its = make<TimelineObject>(timeline_type);
  its->view = kept(view);
  its->plan = nullptr;
  its->next = nullptr;
  its->plan = new Plan(timeline_for(pass, how));
  its->next = std::exchange(view->plans, its);
  return its;
}

Plan& true_plan(TimelineObject* self) {
  (void)pass_of(self->view);
  if (!self->plan->is_true) {
    throw Wrong{
        "this plan is no more true: more than starts from idle nodes was done since; make "
        "it anew"};
  }
  return *self->plan;
}

Time reserve(TimelineObject* self, JobId id, std::optional<Nodes> nodes,
             std::optional<Time> after) {
  Pass& pass = pass_of(self->view);
  Plan& plan = true_plan(self);
  if (pass.job(id).status != Status::pending)
    throw Wrong{"job " + name_of(pass, id) + " does not wait"};
  plan.last = id;
  plan.free.reset();
  plan.found = JobId::none;
  if (!nodes && !after) return plan.at = reserve_earliest(pass, plan.timeline, id);
  const Nodes n = nodes.value_or(pass.start_need(id).nodes);
  const Demand demand = pass.demand(id, n);
  const Duration length = pass.estimate(id, n);
  Spread in;
  plan.at = plan.timeline.earliest(
      demand, length, std::max(after.value_or(pass.now()), pass.job(id).not_before), in);
  if (plan.at == kNever) return kNever;
  plan.timeline.reserve(plan.at, later(plan.at, length), demand, in);
  pass.reserve(id, plan.at, {Why::resources});
  return plan.at;
}

constexpr Names<1> kTimelineNames{"extra_is_free"};
PyObject* do_timeline(ViewObject* view, const One& all) {
  return reinterpret_cast<PyObject*>(timeline_object(view, {.extra_is_free = is_true(all[0])}));
}

PyObject* do_shadow(ViewObject* view, const Two& all) {
  const JobId id = job_of(all[0], view);
  TimelineObject* const its = timeline_object(view);
  const py::object owner = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(its));
  reserve(its, id, all[1] ? std::optional(some_nodes_of(all[1])) : std::nullopt, std::nullopt);
  return py::object(owner).release().ptr();
}

TimelineObject* timeline_of(PyObject* self) { return reinterpret_cast<TimelineObject*>(self); }

template <const auto& Names_, std::size_t Needed, auto Do>
PyObject* timeline_method(PyObject* self, PyObject* const* given, Py_ssize_t count,
                          PyObject* keywords) {
  return guarded(
      [&] { return Do(timeline_of(self), arguments(Names_, Needed, given, count, keywords)); });
}

constexpr Names<3> kPlanNames{"job", "nodes", "after"};

PyObject* plan_earliest(TimelineObject* self, const Three& all) {
  Plan& plan = true_plan(self);
  const Pass& pass = pass_of(self->view);
  const JobId id = job_of(all[0], self->view);
  const Nodes n = all[1] ? some_nodes_of(all[1]) : pass.start_need(id).nodes;
  const Time after = all[2] ? time_of(all[2]) : pass.now();
  return seconds_object(plan.timeline.earliest(pass.demand(id, n), pass.estimate(id, n),
                                               std::max(after, pass.job(id).not_before)));
}

PyObject* plan_reserve(TimelineObject* self, const Three& all) {
  return seconds_object(reserve(self, job_of(all[0], self->view),
                                all[1] ? std::optional(some_nodes_of(all[1])) : std::nullopt,
                                all[2] ? std::optional(time_of(all[2])) : std::nullopt));
}

FreeCells& free_of(Plan& plan, const Pass& pass) {
  if (!plan.free) {
    plan.timeline.from_now(plan.free.emplace());
    limit_to_idle(pass, *plan.free);
  }
  return *plan.free;
}

// Would it disturb no reservation if it started now?
bool fits_now(Plan& plan, const Pass& pass, JobId id, Nodes n, Duration length) {
  FreeCells& free = free_of(plan, pass);
  const Demand demand = pass.demand(id, n);
  if (!free.fits(demand, length) || !pass.fits(id, n)) return false;
  plan.found = id;
  plan.in = free.place(demand, length);
  return true;
}

PyObject* plan_fits_now(TimelineObject* self, const Two& all) {
  Plan& plan = true_plan(self);
  const Pass& pass = pass_of(self->view);
  const JobId id = job_of(all[0], self->view);
  const Nodes n = all[1] ? some_nodes_of(all[1]) : pass.start_need(id).nodes;
  return truth(fits_now(plan, pass, id, n, pass.estimate(id, n)));
}

constexpr Names<2> kForNames{"job", "seconds"};

PyObject* plan_free_for(TimelineObject* self, const Two& all) {
  Plan& plan = true_plan(self);
  const Pass& pass = pass_of(self->view);
  const JobId id = job_of(all[0], self->view);
  const Left left(free_of(plan, pass));
  return number(left.during(pass, id, pass.idle(id), duration_of(all[1])));
}

constexpr Names<3> kHoldNames{"job", "nodes", "seconds"};

PyObject* plan_hold(TimelineObject* self, const Three& all) {
  Plan& plan = true_plan(self);
  const Pass& pass = pass_of(self->view);
  const JobId id = job_of(all[0], self->view);
  const Demand demand = pass.demand(id, some_nodes_of(all[1]));
  const Duration length = duration_of(all[2]);
  FreeCells& free = free_of(plan, pass);
  if (!free.fits(demand, length)) {
    throw Wrong{"so many nodes are not free for so long; ask plan.free_for"};
  }
  const Spread in = free.place(demand, length);
  free.take(demand, in, length);
  plan.timeline.reserve(pass.now(), later(pass.now(), length), demand, in);
  plan.found = JobId::none;
  return done();
}

constexpr Names<1> kBehindNames{"behind"};

PyObject* plan_fitting(TimelineObject* self, const One& all) {
  Plan& plan = true_plan(self);
  const Pass& pass = pass_of(self->view);
  const JobId behind = all[0] ? job_of(all[0], self->view) : plan.last;
  const std::vector<std::optional<JobId>> lanes(pass.reaches(), behind);
  auto* const its = make<FittingIterator>(fitting_type);
  Py_INCREF(reinterpret_cast<PyObject*>(self));
  its->timeline = self;
  its->search = pass.idle() > 0 ? new FitSearch(pass.fits_behind(lanes)) : nullptr;
  return reinterpret_cast<PyObject*>(its);
}

PyObject* fitting_next(PyObject* self) {
  return guarded([&]() -> PyObject* {
    auto* const its = reinterpret_cast<FittingIterator*>(self);
    const Pass& pass = pass_of(its->timeline->view);
    if (!its->search) return nullptr;
    Plan& plan = true_plan(its->timeline);
    FreeCells& free = free_of(plan, pass);
    while (pass.idle() > 0) {
      if (plan.found != JobId::none && pass.knows(plan.found) &&
          pass.job(plan.found).status != Status::pending) {
        its->search->took(plan.in.empty() ? kEveryCell : plan.in.cells());
      }
      const JobId id = its->search->next(free);
      if (id == JobId::none) return nullptr;
      const Queue::Need need = pass.start_need(id);
      if (fits_now(plan, pass, id, need.nodes, need.walltime)) {
        return job_object(its->timeline->view, id);
      }
    }
    return nullptr;
  });
}

void free_fitting(PyObject* self) {
  auto* const its = reinterpret_cast<FittingIterator*>(self);
  delete its->search;
  Py_DECREF(reinterpret_cast<PyObject*>(its->timeline));
  PyObject_Free(self);
}

PyObject* timeline_at(PyObject* self, void*) {
  return guarded([&] { return seconds_object(timeline_of(self)->plan->at); });
}
PyObject* timeline_job(PyObject* self, void*) {
  return guarded(
      [&] { return job_or_none(timeline_of(self)->view, timeline_of(self)->plan->last); });
}

void free_timeline(PyObject* self) {
  auto* const its = timeline_of(self);
  for (TimelineObject** at = &its->view->plans; *at; at = &(*at)->next) {
    if (*at == its) {
      *at = its->next;
      break;
    }
  }
  delete its->plan;
  Py_DECREF(reinterpret_cast<PyObject*>(its->view));
  PyObject_Free(self);
}

// ---- The view: attributes -----------------------------------------------------------------------

// An attribute of what a policy sees: `Get(view)`.
template <auto Get>
PyObject* view_attribute(PyObject* self, void*) {
  return guarded([&]() -> PyObject* { return Get(view_of(self)); });
}

PyObject* view_queue(ViewObject* view) {
  auto* const queue = make<QueueObject>(queue_type);
  queue->view = kept(view);
  return reinterpret_cast<PyObject*>(queue);
}

PyObject* jobs_list(ViewObject* view, std::span<const JobId> ids) {
  return list_of(ids, [&](JobId id) { return job_object(view, id); });
}

PyObject* view_requests(ViewObject* view) {
  return list_of(requests_now(pass_of(view)), [&](const Request& each) {
    auto* const request = make<RequestObject>(request_type);
    request->view = kept(view);
    request->its = each;
    return reinterpret_cast<PyObject*>(request);
  });
}

PyObject* view_claims(ViewObject* view) {
  return list_of(pass_of(view).claims(), [&](const Claim& each) {
    auto* const claim = make<ClaimObject>(claim_type);
    claim->view = kept(view);
    claim->id = each.id;
    return reinterpret_cast<PyObject*>(claim);
  });
}

// Of those that `Pass::woken_by` knows.
template <std::size_t... I>
std::vector<std::string_view> words_of_events(const Pass& pass, std::index_sequence<I...>) {
  std::vector<std::string_view> words;
  ((pass.woken_by<std::variant_alternative_t<I, Event>>() ? words.push_back(event_words()[I])
                                                          : void()),
   ...);
  return words;
}

PyObject* view_woken_by(ViewObject* view) {
  return list_of(
      words_of_events(pass_of(view), std::make_index_sequence<std::variant_size_v<Event>>{}), text);
}

#define VIEW(name, value, about)                              \
  PyGetSetDef {                                               \
    name, &view_attribute<[](ViewObject* view) -> PyObject* { \
      Pass& pass = pass_of(view);                             \
      (void)pass;                                             \
      return value;                                           \
    }>,                                                       \
        nullptr, about, nullptr                               \
  }

PyGetSetDef view_attributes[] = {
    VIEW("now", seconds_object(pass.now()), "The time of this pass, in seconds."),
    VIEW("nodes", number(pass.platform().nodes), "How many nodes the machine has."),
    VIEW("idle", number(pass.idle()), "Nodes that nobody holds and that can be used now."),
    VIEW("incoming", number(pass.incoming()),
         "Nodes that running shrinks will give back and that are promised to nobody."),
    VIEW("free_nodes", number(free_nodes(pass)), "idle + incoming."),
    VIEW("in_use", number(pass.in_use()), "Nodes that jobs or claims have, or have been promised."),
    VIEW(
        "queue", view_queue(view),
        "The waiting jobs without a claim, in the queue's order: an iterable that copies nothing."),
    VIEW("running", jobs_list(view, pass.running()), "All running jobs, in no particular order."),
    VIEW("running_malleable", jobs_list(view, pass.running_malleable()),
         "Those of them whose size may change while they run."),
    VIEW("started", jobs_list(view, pass.started()), "Jobs that this pass has started, in order."),
    VIEW("requests", view_requests(view),
         "Evolving requests that can be answered now, in order of arrival. An answer may change "
         "which these are."),
    VIEW("woken_by", view_woken_by(view),
         "The kinds of events since the last pass, by the words of the log's E lines: 'submitted', "
         "'ended', ..."),
    VIEW("claims", view_claims(view), "Who waits for promised nodes, the oldest first."),
    VIEW("power_w", PyFloat_FromDouble(pass.power_w()), "What is drawn, as believed, in watts."),
    {}};

PyMethodDef view_methods[] = {
    fast<method<kStartNames, 1, do_start>>(
        "start",
        "start(job, nodes=None, reason=None, because_of=None, cuts=None, incoming=False)\n\n"
        "Starts a waiting job on so many nodes, or on as many of (least, most) as there are; "
        "without, on `job.nodes`. Raises ductile.Error if that is not possible now. With cuts, "
        "pairs (job, nodes), running malleable jobs shrink to so many nodes for it, and it starts "
        "when they have answered; with incoming it may wait for nodes that come back to nobody. "
        "The reason is 'in-order' if none is said, or 'backfilled' if a plan has said that it "
        "fits."),
    fast<method<kStartNames, 1, do_try_start>>(
        "try_start", "try_start(...) -> bool\n\nAs start; False if that is not possible now."),
    fast<method<kResizeNames, 2, do_resize>>(
        "resize",
        "resize(job, nodes, reason=None, because_of=None, cuts=None, incoming=False)\n\n"
        "Resizes a running malleable job to so many nodes, or to as many of (least, most) as there "
        "are; what a cut gives is free then. A job that this pass started, a moldable one, too, is "
        "started larger. Raises ductile.Error if that is not possible now. The reason is "
        "'hand-out' of a growth and 'shrunk-for' of a cut if none is said."),
    fast<method<kResizeNames, 2, do_try_resize>>(
        "try_resize", "try_resize(...) -> bool\n\nAs resize; False if that is not possible now."),
    fast<method<kGrantNames, 1, do_grant>>(
        "grant",
        "grant(request, reason=None, cuts=None, incoming=False, extra_is_free=False)\n\n"
        "Grants an evolving request, as a resize of its job: all of it, or as much as there is "
        "from "
        "at_least on. Raises ductile.Error if there is less, or if `--fairness` does not allow it, "
        "by a plan with one reservation that is made as view.timeline(extra_is_free). Other "
        "requests of this job cannot be answered in this pass then."),
    fast<method<kGrantNames, 1, do_try_grant>>(
        "try_grant", "try_grant(...) -> bool\n\nAs grant; False if that is not possible now."),
    fast<method<kDenyNames, 1, do_deny>>(
        "deny", "deny(request, reason=None)\n\nDenies an evolving request."),
    fast<method<kStopNames, 2, do_stop>>(
        "stop",
        "stop(job, how, reason=None)\n\nA running job leaves all its nodes: 'cancel', "
        "'requeue' (it begins anew later) or 'suspend' (it goes on later)."),
    fast<method<kWithdrawNames, 1, do_withdraw>>(
        "withdraw", "withdraw(claim, reason=None)\n\nGives a claim up."),
    fast<method<kReserveNames, 2, do_reserve>>(
        "reserve",
        "reserve(job, at)\n\nSays when (s) a waiting job is planned to start. It "
        "explains, and has no effect."),
    fast<method<kTagNames, 2, do_tag>>(
        "tag",
        "tag(job, other)\n\nA policy's only memory: a job may point to another one, or None."),
    fast<method<kWakeNames, 1, do_wake_by>>(
        "wake_by", "wake_by(time)\n\nWakes the policy at this time (s) at the latest."),
    fast<method<kTickNames, 1, do_tick>>(
        "tick",
        "tick(period)\n\nWakes it at the next multiple of this time (s), once, if a job waits "
        "or runs: call it in each pass."),
    fast<method<kCarryNames, 2, do_carry_out>>(
        "carry_out",
        "carry_out(cuts, gains, reason=None, incoming=False) -> bool\n\n"
        "All or nothing: running jobs are cut, and what they give is dealt out to "
        "gains, pairs (job, nodes) or requests, each one's least first."),
    fast<method<kFitsNames, 1, do_fits>>(
        "fits", "fits(job, nodes=None) -> bool\n\nCould it start on so many nodes now?"),
    fast<method<kJobNames, 1, do_idle_for>>("idle_for",
                                            "idle_for(job) -> int\n\nIdle nodes that it can use."),
    fast<method<kJobNames, 1, do_free_for>>(
        "free_for", "free_for(job) -> int\n\nThese, and those that come back to nobody."),
    fast<method<kMayNames, 2, do_may_expand>>(
        "may_expand",
        "may_expand(job, nodes, cuts=None, incoming=False) -> bool\n\nWould it end earlier on so "
        "many nodes, what the resize costs and the wait for nodes of these sources included?"),
    fast<method<kTimelineNames, 0, do_timeline>>(
        "timeline",
        "timeline(extra_is_free=False) -> Timeline\n\nWhat is believed to be free from now on: a "
        "plan. With extra_is_free what malleable jobs hold beyond their smallest sizes is free in "
        "it, for reservations; only idle nodes can be taken now."),
    fast<method<kFitsNames, 1, do_shadow>>(
        "shadow",
        "shadow(job, nodes=None) -> Timeline\n\nA plan in which this waiting job is "
        "reserved at its earliest time."),
    fast<method<kStrictNames, 0, do_start_in_order>>(
        "start_in_order",
        "start_in_order(strict=False)\n\nStarts waiting jobs in order while the "
        "first one fits."),
    fast<method<kDepthNames, 0, do_backfill>>(
        "backfill", "backfill(depth=1)\n\nBackfilling with so many reservations; math.inf: all."),
    fast<method<kDepthNames, 0, do_start_and_backfill>>(
        "start_and_backfill",
        "start_and_backfill(depth=1)\n\nstart_in_order, then backfill: all that easy does."),
    fast<method<kNoNames, 0, do_grant_from_idle>>(
        "grant_from_idle",
        "grant_from_idle()\n\nAnswers the evolving requests: every shrink is "
        "granted, and growth as far as idle nodes go."),
    fast<method<kHandOutNames, 0, do_hand_out_idle>>(
        "hand_out_idle",
        "hand_out_idle(jobs=None, share='in_turn')\n\nGives the idle nodes to these "
        "running jobs, in this order, up to their largest size; share: in_turn, "
        "level, even."),
    fast<method<kCutsNames, 2, do_cuts_for>>(
        "cuts_for",
        "cuts_for(jobs, nodes, whom=None, share='in_turn') -> list or None\n\n"
        "Cuts (job, nodes) of these running jobs that together give so many nodes, "
        "which `whom` can use; None if they cannot."),
    fast<method<kNoNames, 0, do_random>>(
        "random", "random() -> int\n\n64 random bits: a function of the seed and the pass."),
    {}};

// ---- Jobs ---------------------------------------------------------------------------------------

struct JobSeen {
  ViewObject* view;
  Pass& pass;
  const Job& job;
  JobId id;
};

template <auto Get>
PyObject* job_attribute(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    auto* const object = reinterpret_cast<JobObject*>(self);
    Pass& pass = pass_of(object->view);
    if (!pass.knows(object->id)) throw Wrong{"this job is over"};
    return Get(JobSeen{object->view, pass, pass.job(object->id), object->id});
  });
}

#define JOB(name, value, about)                                                                  \
  PyGetSetDef {                                                                                  \
    name, &job_attribute<[](const JobSeen& its) -> PyObject* { return value; }>, nullptr, about, \
        nullptr                                                                                  \
  }

constexpr std::array<std::string_view, 4> kStatusWords{"held", "pending", "running", "over"};

PyGetSetDef job_attributes[] = {
    JOB("number", number(static_cast<std::int64_t>(its.job.spec.name)),
        "Its number in the workload."),
    JOB("id", number(index(its.id)), "Its place in the order of submission, from 0."),
    JOB("type", text(word(its.job.spec.type)),
        "'rigid', 'moldable', 'malleable', 'evolving' or 'adaptive'."),
    JOB("status", text(kStatusWords[static_cast<std::size_t>(its.job.status)]),
        "'held', 'pending' or 'running'."),
    JOB("user", number(its.job.spec.user), "The number of its user; 0: not known."),
    JOB("group", number(its.job.spec.group), "The number of its group; 0: not known."),
    JOB("priority", number(its.job.spec.priority), "Higher goes first."),
    JOB("submitted", seconds_object(its.job.spec.submitted), "When it was submitted, in seconds."),
    JOB("walltime", seconds_object(its.job.spec.walltime),
        "What was requested at the preferred size, in seconds."),
    JOB("nodes",
        number(its.job.status == Status::running ? its.job.size()
                                                 : its.pass.start_need(its.id).nodes),
        "Of a running job its size, when what is under way is done; of a waiting one the size at "
        "which it is started if nothing is said."),
    JOB("preferred", number(its.job.spec.preferred), "The size asked for."),
    JOB("min", number(its.job.spec.size.min), "Its smallest size."),
    JOB("max", number(its.job.spec.size.max), "Its largest size."),
    JOB("smallest", number(its.pass.smallest(its.id)),
        "The smallest size that a policy may choose for it; the preferred one if it may choose "
        "none."),
    JOB("first_size", number(its.job.first_size), "The size at which it was started."),
    JOB("started", seconds_object(its.job.started), "When it was started, in seconds."),
    JOB("expected_end", seconds_object(its.pass.expected_end(its.id)),
        "The believed end of a running job at its present size, in seconds."),
    JOB("reserved", seconds_object(its.job.reserved),
        "When it is planned to start, in seconds; infinite: it is not planned."),
    JOB("not_before", seconds_object(its.job.not_before),
        "It is left alone until this time, in seconds."),
    JOB("extra", number(its.pass.extra(its.id)),
        "Nodes beyond its smallest size: what could be taken from it, now or later."),
    JOB("resizable", truth(its.pass.resizable(its.id)),
        "It runs, its size may change, nothing is under way, and this pass has not decided about "
        "it."),
    JOB("cuttable", truth(its.pass.cuttable(its.id)),
        "Can it be cut now: resizable, or cut by this pass, which may cut it further?"),
    JOB("growable", truth(its.pass.growable(its.id)),
        "Can it be given nodes now: resizable, or started (a moldable job, too) or grown by this "
        "pass, which may give it more?"),
    JOB("has_claim", truth(its.job.claim != ClaimId::none), "Does it wait for promised nodes?"),
    JOB("is_busy", truth(its.job.doing != Doing::nothing),
        "Is a start, a resize or a stop under way?"),
    JOB("expands", number(its.job.expands), "How often it was expanded since its start."),
    JOB("shrinks", number(its.job.shrinks), "How often it was shrunk since its start."),
    JOB("restarts", number(its.job.restarts), "How often it lost its nodes and waited again."),
    JOB("refusals", number(its.job.refusals), "How many resizes in a row it has refused."),
    JOB("tag", job_or_none(its.view, its.pass.knows(its.job.tag) ? its.job.tag : JobId::none),
        "The job that view.tag said, while it is not over."),
    {}};

template <const auto& Names_, std::size_t Needed, auto Do>
PyObject* job_method(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    auto* const object = reinterpret_cast<JobObject*>(self);
    const JobId id = job_of(self, object->view);
    Pass& pass = pass_of(object->view);
    return Do(JobSeen{object->view, pass, pass.job(id), id},
              arguments(Names_, Needed, given, count, keywords));
  });
}

constexpr Names<1> kNodesNames{"nodes"};
Nodes size_at(const JobSeen& its, PyObject* nodes) {
  if (nodes) {
    const Nodes n = nodes_of(nodes);
    if (n == 0) throw Wrong{"0 is no size of a job"};
    return n;
  }
  return its.job.status == Status::running ? its.job.size() : its.pass.start_need(its.id).nodes;
}
PyObject* job_estimate(const JobSeen& its, const One& all) {
  return seconds_object(its.pass.estimate(its.id, size_at(its, all[0])));
}
PyObject* job_end_at(const JobSeen& its, const One& all) {
  if (its.job.status != Status::running)
    throw Wrong{"job " + name_of(its.pass, its.id) + " does not run"};
  return seconds_object(its.pass.expected_end(its.id, size_at(its, all[0])));
}
PyObject* job_cost(const JobSeen& its, const One& all) {
  return seconds_object(its.pass.expected_cost(its.id, size_at(its, all[0])));
}
PyObject* job_at_most(const JobSeen& its, const One& all) {
  return number(its.pass.sizes(its.id).at_most(nodes_of(all[0])));
}
PyObject* job_at_least(const JobSeen& its, const One& all) {
  return number(its.pass.sizes(its.id).at_least(nodes_of(all[0])));
}

PyObject* job_speed(const JobSeen& its, const One& all) {
  const Nodes n = size_at(its, all[0]), preferred = its.job.spec.preferred;
  return PyFloat_FromDouble(1 / its.pass.speedup(its.id).relative_time(n, preferred));
}

PyMethodDef job_methods[] = {
    fast<job_method<kNodesNames, 0, job_estimate>>(
        "estimate",
        "estimate(nodes=None) -> float\n\nIts whole believed run time (s) on so many "
        "nodes, whether it may have them or not, in whole microseconds."),
    fast<job_method<kNodesNames, 0, job_speed>>(
        "speed",
        "speed(nodes=None) -> float\n\nHow fast it is believed to be on so many nodes, by its "
        "model alone, without rounding: 1 is its speed at the preferred size."),
    fast<job_method<kNodesNames, 1, job_end_at>>(
        "expected_end_at",
        "expected_end_at(nodes) -> float\n\nThe believed end (s) if it ran on so "
        "many nodes from now on; the cost of the change is not in it."),
    fast<job_method<kNodesNames, 1, job_cost>>(
        "resize_cost",
        "resize_cost(nodes) -> float\n\nHow long (s) a resize to so many nodes is "
        "believed to keep it from computing."),
    fast<job_method<kNodesNames, 1, job_at_most>>(
        "at_most",
        "at_most(nodes) -> int\n\nThe largest size that its constraint (even, powers of two, ...) "
        "allows up to so many nodes; 0: none. Without a constraint that is `nodes`: min and max "
        "are "
        "not looked at."),
    fast<job_method<kNodesNames, 1, job_at_least>>(
        "at_least",
        "at_least(nodes) -> int\n\nThe smallest size that its constraint allows from so many nodes "
        "on, in the same way; more than any machine has: none."),
    {}};

PyObject* job_repr(PyObject* self) {
  return guarded([&] {
    const auto* const job = reinterpret_cast<JobObject*>(self);
    return text(job->view->pass ? "<job " + name_of(*job->view->pass, job->id) + ">"
                                : std::string("<job of another pass>"));
  });
}
Py_hash_t job_hash(PyObject* self) { return index(reinterpret_cast<JobObject*>(self)->id); }
PyObject* job_compare(PyObject* a, PyObject* b, int how) {
  if (Py_TYPE(a) != job_type || Py_TYPE(b) != job_type || (how != Py_EQ && how != Py_NE)) {
    Py_RETURN_NOTIMPLEMENTED;
  }
  const bool same = reinterpret_cast<JobObject*>(a)->id == reinterpret_cast<JobObject*>(b)->id;
  return truth(same == (how == Py_EQ));
}

// All of these have a view, at the same place.
template <class T>
void free_with_view(PyObject* self) {
  Py_DECREF(reinterpret_cast<PyObject*>(reinterpret_cast<T*>(self)->view));
  PyObject_Free(self);
}

// ---- Requests and claims ------------------------------------------------------------------------

PyObject* request_job(PyObject* self, void*) {
  return guarded([&] {
    auto* const its = reinterpret_cast<RequestObject*>(self);
    return job_object(its->view, its->its.job);
  });
}
PyObject* request_delta(PyObject* self, void*) {
  return number(reinterpret_cast<RequestObject*>(self)->its.delta);
}
PyObject* request_at_least(PyObject* self, void*) {
  return number(reinterpret_cast<RequestObject*>(self)->its.at_least);
}
PyGetSetDef request_attributes[] = {
    {"job", request_job, nullptr, "Whose it is.", nullptr},
    {"delta", request_delta, nullptr, "How many nodes more it asks for, or fewer.", nullptr},
    {"at_least", request_at_least, nullptr, "Of a growth: it takes no fewer.", nullptr},
    {}};

const Claim& claim_of(PyObject* self) {
  auto* const its = reinterpret_cast<ClaimObject*>(self);
  const auto claims = pass_of(its->view).claims();
  const auto at = std::ranges::find(claims, its->id, &Claim::id);
  if (at == claims.end()) throw Wrong{"this claim is no more"};
  return *at;
}
PyObject* claim_job(PyObject* self, void*) {
  return guarded(
      [&] { return job_object(reinterpret_cast<ClaimObject*>(self)->view, claim_of(self).job); });
}
PyObject* claim_expected(PyObject* self, void*) {
  return guarded([&] { return seconds_object(claim_of(self).expected); });
}
PyObject* claim_start(PyObject* self, void*) {
  return guarded([&] { return truth(claim_of(self).start); });
}
PyGetSetDef claim_attributes[] = {
    {"job", claim_job, nullptr, "Who waits.", nullptr},
    {"expected", claim_expected, nullptr, "When its last nodes are expected, in seconds.", nullptr},
    {"is_start", claim_start, nullptr, "Is it of a start? Else of a growth.", nullptr},
    {}};

// ---- The queue ----------------------------------------------------------------------------------

PyObject* queue_iterate(PyObject* self) {
  return guarded([&] {
    auto* const its = make<QueueIterator>(queue_iterator_type);
    its->view = kept(reinterpret_cast<QueueObject*>(self)->view);
    its->at = JobId::none;
    its->is_over = false;
    return reinterpret_cast<PyObject*>(its);
  });
}

// The next job: the last one may have started since.
PyObject* queue_next(PyObject* self) {
  return guarded([&]() -> PyObject* {
    auto* const its = reinterpret_cast<QueueIterator*>(self);
    const Pass& pass = pass_of(its->view);
    if (its->is_over) return nullptr;
    its->at = its->at == JobId::none ? pass.first_pending() : pass.next_pending(its->at);
    if (its->at == JobId::none) {
      its->is_over = true;
      return nullptr;
    }
    return job_object(its->view, its->at);
  });
}

Py_ssize_t queue_length(PyObject* self) {
  const auto* const view = reinterpret_cast<QueueObject*>(self)->view;
  if (view->pass) return static_cast<Py_ssize_t>(view->pass->pending());
  PyErr_SetString(error_type, "the pass is over");
  return -1;
}

PyObject* queue_first(PyObject* self, void*) {
  return guarded([&] {
    auto* const view = reinterpret_cast<QueueObject*>(self)->view;
    return job_or_none(view, pass_of(view).first_pending());
  });
}
PyGetSetDef queue_attributes[] = {
    {"first", queue_first, nullptr, "The first job, or None.", nullptr}, {}};

// ---- Making the types ---------------------------------------------------------------------------

template <class T>
PyTypeObject* make_type(py::module_& module, const char* name, std::vector<PyType_Slot> slots) {
  slots.push_back({0, nullptr});
  PyType_Spec spec{name, static_cast<int>(sizeof(T)), 0,
                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots.data()};
  auto* const type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!type) throw py::error_already_set();
  const std::string_view whole = name;
  module.attr(std::string(whole.substr(whole.rfind('.') + 1)).c_str()) =
      py::handle(reinterpret_cast<PyObject*>(type));
  return type;
}

// Objects of types that are made so keep their types.
template <void (*Free)(PyObject*)>
void free_of_type(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

void free_view(PyObject* self) { PyObject_Free(self); }

template <class T>
void* slot(T* function) {
  return reinterpret_cast<void*>(function);
}

PyMethodDef timeline_methods[] = {
    fast<timeline_method<kPlanNames, 1, plan_earliest>>(
        "earliest",
        "earliest(job, nodes=None, after=None) -> float\n\nThe earliest time (s) at "
        "which it fits for its whole believed run time; infinite: never."),
    fast<timeline_method<kPlanNames, 1, plan_reserve>>(
        "reserve",
        "reserve(job, nodes=None, after=None) -> float\n\nReserves it there, and says "
        "when (s) that is."),
    fast<timeline_method<kFitsNames, 1, plan_fits_now>>(
        "fits_now",
        "fits_now(job, nodes=None) -> bool\n\nCould it start now without disturbing a "
        "reservation?"),
    fast<timeline_method<kForNames, 2, plan_free_for>>(
        "free_for",
        "free_for(job, seconds) -> int\n\nHow many idle nodes that this job can use no "
        "reservation needs for so long from now on."),
    fast<timeline_method<kHoldNames, 3, plan_hold>>(
        "hold",
        "hold(job, nodes, seconds)\n\nSo many of these are held for the job for so long from now "
        "on, in this plan."),
    fast<timeline_method<kBehindNames, 0, plan_fitting>>(
        "fitting",
        "fitting(behind=None)\n\nThe waiting jobs behind this one, or behind the one "
        "that was reserved last, that can start now without disturbing a reservation, in "
        "order. The plan sees what is started meanwhile."),
    {}};
PyGetSetDef timeline_attributes[] = {
    {"at", timeline_at, nullptr, "When the job that was reserved last begins, in seconds.",
     nullptr},
    {"job", timeline_job, nullptr, "Who was reserved last, or None.", nullptr},
    {}};

// ---- The policy ---------------------------------------------------------------------------------

// What an exception says of itself; one that raises instead says nothing.
std::string words_of(const py::error_already_set& error) {
  try {
    return py::cast<std::string>(py::str(error.value()));
  } catch (const py::error_already_set&) {
    return "(its __str__ raised something itself)";
  }
}

// Where it is to be mended: the innermost frame of its traceback that is of a file; of an error of
// syntax, where that is.
Place place_of(const py::error_already_set& error, const std::string& policy) {
  Place place{.field = policy};
  if (error.matches(PyExc_SyntaxError) && py::isinstance<py::str>(error.value().attr("filename")) &&
      py::isinstance<py::int_>(error.value().attr("lineno"))) {
    place.file = py::cast<std::string>(error.value().attr("filename"));
    place.line = py::cast<std::uint64_t>(error.value().attr("lineno"));
    return place;
  }
  py::object at = error.trace() ? error.trace() : py::none();
  for (; !at.is_none(); at = at.attr("tb_next")) {
    auto file = py::cast<std::string>(at.attr("tb_frame").attr("f_code").attr("co_filename"));
    if (file.starts_with("<frozen")) continue;
    place.line = py::cast<std::uint64_t>(at.attr("tb_lineno"));
    place.file = std::move(file);
  }
  return place;
}

// How many forks lie between the first process and this one. Asking for the process's number would
// be a system call at each pass.
unsigned forks = 0;

void count_forks() {
  [[maybe_unused]] static const int once = pthread_atfork(nullptr, nullptr, [] { ++forks; });
}

class PythonPolicy final : public Policy {
 public:
  PythonPolicy(py::object object, Traits its) : Policy(std::move(its)) {
    name_ = py::cast<std::string>(py::type::of(object).attr("__qualname__"));
    schedule_ = object.attr("schedule");
    count_forks();
  }
  ~PythonPolicy() override {
    const WithLock lock;
    schedule_ = py::object();
  }
  PythonPolicy(const PythonPolicy&) = delete;
  PythonPolicy& operator=(const PythonPolicy&) = delete;

  void schedule(Pass& pass) const override {
    // There is nothing that it could do.
    if (pass.pending() == 0 && pass.running_malleable().empty() && pass.claims().empty() &&
        !(traits.answers_requests && pass.has_requests())) {
      return;
    }
    const WithLock lock;
    auto* const view = PyObject_New(ViewObject, view_type);
    if (!view) throw std::bad_alloc();
    view->pass = &pass;
    view->plans = nullptr;
    view->unfair = RequestId::none;
    auto* const argument = reinterpret_cast<PyObject*>(view);
    const unsigned forks_before = forks;
    PyObject* const answer = call_python(schedule_.ptr(), argument);
    if (forks != forks_before) _exit(0);  // the policy has forked, and this is the other one
    const Time now = pass.now();
    view->pass = nullptr;
    Py_DECREF(argument);
    if (answer == Py_None) {
      Py_DECREF(answer);
      return;
    }
    if (!answer) raised(now);
    const std::string type = Py_TYPE(answer)->tp_name;
    Py_DECREF(answer);
    wrong_answer(type);
  }

 private:
  [[noreturn]] void raised(Time now) const {
    py::error_already_set error;
    const Place place = place_of(error, "policy " + name_);
    std::string trace;
    for (const auto& line :
         py::module_::import("traceback")
             .attr("format_exception")(error.type(), error.value(),
                                       error.trace() ? error.trace() : py::none())) {
      trace += py::cast<std::string>(line);
    }
    while (trace.ends_with('\n')) trace.pop_back();
    std::string what = py::cast<std::string>(error.type().attr("__name__"));
    if (const std::string words = words_of(error); !words.empty()) what += ": " + words;
    py::object cause = error.value();
    if (error.trace()) cause.attr("__traceback__") = error.trace();
    throw PolicyRaised(place, "at " + std::to_string(to_seconds(now)) + " s it raised " + what,
                       "mend it there\n" + trace, std::move(cause));
  }

  [[noreturn]] void wrong_answer(const std::string& type) const {
    Place place{.field = "policy " + name_};
    if (py::hasattr(schedule_, "__code__")) {
      const py::object code = schedule_.attr("__code__");
      place.file = py::cast<std::string>(code.attr("co_filename"));
      place.line = py::cast<std::uint64_t>(code.attr("co_firstlineno"));
    }
    throw PolicyRaised(place, "its schedule returned something of type " + type,
                       "let it call view.start and the like, and return nothing", py::none());
  }

  std::string name_;
  py::object schedule_;
};

template <std::size_t N>
std::size_t trait_word(const py::object& object, const char* name,
                       const std::array<std::string_view, N>& words, std::size_t usual) {
  if (!py::hasattr(object, name)) return usual;
  const auto word = py::cast<std::string>(py::str(object.attr(name)));
  const auto at = std::ranges::find(words, word);
  if (at == words.end()) {
    throw InputError({.field = name}, "there is no '" + word + "'",
                     "use one of " + listed(std::vector<std::string>(words.begin(), words.end())));
  }
  return static_cast<std::size_t>(at - words.begin());
}

bool trait_flag(const py::object& object, const char* name, bool usual) {
  return py::hasattr(object, name) ? py::cast<bool>(py::bool_(object.attr(name))) : usual;
}

// For programs that have no Python of their own.
void make_for_program(const std::string& what, const std::map<std::string, std::string>& own,
                      std::shared_ptr<Policy>& policy) {
  policy = python_policies().make(what, own);
}

// Whoever holds the lock at a fork leaves it locked in the copy, for ever, unless it is this
// thread. What Python does in a copy seeds `random` anew: here both go on with the same numbers.
pid_t fork_for_program() {
  const WithLock lock;
  py::object random_state, random;
  try {
    const py::object modules = py::module_::import("sys").attr("modules");
    if (modules.contains("random")) {
      random = modules["random"];
      random_state = random.attr("getstate")();
    }
    for (const char* const stream : {"stdout", "stderr"}) {
      const py::object it = py::module_::import("sys").attr(stream);
      if (!it.is_none()) it.attr("flush")();  // or both write what is in its buffer
    }
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("a copy of the program");
  }
  PyOS_BeforeFork();
  const pid_t child = fork();
  if (child != 0) {
    PyOS_AfterFork_Parent();
    return child;
  }
  PyOS_AfterFork_Child();
  try {
    if (random_state) random.attr("setstate")(random_state);
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("a copy of the program");
  }
  return child;
}

constexpr PythonPolicies kForPrograms{kPythonBuild, &make_for_program, &fork_for_program};

}  // namespace

PolicyRaised::PolicyRaised(const Place& place, const std::string& what, const std::string& remedy,
                           py::object cause)
    : InputError(place, what, remedy),
      cause_(new py::object(std::move(cause)), [](py::object* its) {
        const WithLock lock;
        delete its;
      }) {}

std::shared_ptr<Policy> python_policy(py::object object) {
  const auto type = py::cast<std::string>(py::type::of(object).attr("__qualname__"));
  if (py::isinstance<py::type>(object) || !py::hasattr(object, "schedule") ||
      !PyCallable_Check(object.attr("schedule").ptr())) {
    throw InputError(
        {.field = "policy"}, "an object of type " + type + " is no policy",
        "give a name of `ductile policies`, or an object with a method schedule(self, view)");
  }
  Traits traits;
  traits.wakes = trait_flag(object, "wakes_on_answers", true) ? kEveryEvent : kAllButAnswers;
  traits.answers_requests = trait_flag(object, "answers_requests", false);
  traits.order = static_cast<QueueOrder>(trait_word(object, "order", kQueueOrderWords, 0));
  traits.start_size = static_cast<StartSize>(trait_word(object, "start_size", kStartSizeWords, 0));
  traits.needs.suspends = trait_flag(object, "suspends", false);
  return std::make_shared<PythonPolicy>(std::move(object), std::move(traits));
}

OutsidePolicies python_policies() {
  return {.name = "python",
          .form = "python:FILE.py:CLASS[,parameter=value,...]",
          .make = [](const std::string& what, const std::map<std::string, std::string>& own) {
            const WithLock lock;
            try {
              return python_policy(
                  py::module_::import("ductile._load").attr("policy")(what, py::cast(own)));
            } catch (py::error_already_set& error) {
              const std::string words = words_of(error);
              if (error.matches(error_type)) throw InputError({.field = "--policy"}, words, "");
              const Place place = place_of(error, "policy python:" + what);
              throw PolicyRaised(
                  place, py::cast<std::string>(error.type().attr("__name__")) + ": " + words,
                  "mend it there", error.value());
            }
          }};
}

void add_policy_types(py::module_& module) {
  error_type = py::object(module.attr("Error")).ptr();
  view_type = make_type<ViewObject>(
      module, "ductile._ductile.View",
      {{Py_tp_dealloc, slot(&free_of_type<free_view>)},
       {Py_tp_getset, view_attributes},
       {Py_tp_methods, view_methods},
       {Py_tp_doc,
        const_cast<char*>("What a policy sees in one pass, and the pen it decides with.")}});
  job_type = make_type<JobObject>(module, "ductile._ductile.Job",
                                  {{Py_tp_dealloc, slot(&free_of_type<free_with_view<JobObject>>)},
                                   {Py_tp_getset, job_attributes},
                                   {Py_tp_methods, job_methods},
                                   {Py_tp_repr, slot(&job_repr)},
                                   {Py_tp_hash, slot(&job_hash)},
                                   {Py_tp_richcompare, slot(&job_compare)},
                                   {Py_tp_doc, const_cast<char*>("A job, as a policy knows it.")}});
  request_type = make_type<RequestObject>(
      module, "ductile._ductile.Request",
      {{Py_tp_dealloc, slot(&free_of_type<free_with_view<RequestObject>>)},
       {Py_tp_getset, request_attributes},
       {Py_tp_doc, const_cast<char*>("What a running evolving job asks for.")}});
  claim_type = make_type<ClaimObject>(
      module, "ductile._ductile.Claim",
      {{Py_tp_dealloc, slot(&free_of_type<free_with_view<ClaimObject>>)},
       {Py_tp_getset, claim_attributes},
       {Py_tp_doc, const_cast<char*>("Nodes that a job was promised and waits for.")}});
  queue_type =
      make_type<QueueObject>(module, "ductile._ductile.Queue",
                             {{Py_tp_dealloc, slot(&free_of_type<free_with_view<QueueObject>>)},
                              {Py_tp_iter, slot(&queue_iterate)},
                              {Py_sq_length, slot(&queue_length)},
                              {Py_tp_getset, queue_attributes},
                              {Py_tp_doc, const_cast<char*>("The waiting jobs, in order.")}});
  queue_iterator_type =
      make_type<QueueIterator>(module, "ductile._ductile.QueueIterator",
                               {{Py_tp_dealloc, slot(&free_of_type<free_with_view<QueueIterator>>)},
                                {Py_tp_iter, slot(&PyObject_SelfIter)},
                                {Py_tp_iternext, slot(&queue_next)}});
  timeline_type = make_type<TimelineObject>(
      module, "ductile._ductile.Timeline",
      {{Py_tp_dealloc, slot(&free_of_type<free_timeline>)},
       {Py_tp_getset, timeline_attributes},
       {Py_tp_methods, timeline_methods},
       {Py_tp_doc, const_cast<char*>("A plan: what is believed to be free, and reservations.")}});
  fitting_type = make_type<FittingIterator>(module, "ductile._ductile.FittingIterator",
                                            {{Py_tp_dealloc, slot(&free_of_type<free_fitting>)},
                                             {Py_tp_iter, slot(&PyObject_SelfIter)},
                                             {Py_tp_iternext, slot(&fitting_next)}});
  module.attr("_for_programs") = py::capsule(&kForPrograms, PythonPolicies::kCapsule);
}

}  // namespace ductile
