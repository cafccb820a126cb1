// The controller: one core, one world, one journal, and those who ask. One thread around `poll`.
//
// What happens in one turn is one instant of the core: its events and what is decided are durable
// before anybody hears of them, be it a user or the world. The core, the journal and the loop are
// in controller.cpp, what users may ask in requests.cpp and, where that takes a while,
// questions.cpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "job/allowance.hpp"
#include "job/line_socket.hpp"
#include "job/socket.hpp"
#include "live/applications.hpp"
#include "live/background_queries.hpp"
#include "live/corridor_watch.hpp"
#include "live/http_child.hpp"
#include "live/job_registry.hpp"
#include "live/journal.hpp"
#include "live/metrics.hpp"
#include "live/metrics_server.hpp"
#include "live/node_health.hpp"
#include "live/node_watch.hpp"
#include "live/policy_process.hpp"
#include "live/schedule_clock.hpp"
#include "live/serve.hpp"
#include "live/snapshots.hpp"
#include "live/submission.hpp"
#include "live/tcp_door.hpp"
#include "live/time_slice.hpp"
#include "live/turns.hpp"
#include "live/world.hpp"
#include "model/fairness.hpp"
#include "report/circumstances.hpp"
#include "scheduling/core.hpp"
#include "scheduling/policy.hpp"
#include "scheduling/runtime_prediction.hpp"
#include "simulation/look_ahead.hpp"

namespace ductile {

class JsonText;

/// Of a user, or the number as text. Looked up once: it may be a file or a network away.
const std::string& name_of_user(uid_t user);

/// An answer as it is sent.
std::string line_of(const nlohmann::ordered_json& answer);

/// How a job in the journal ended, in Slurm's words; RUNNING while `state` is empty.
std::string_view end_word(std::string_view state);

/// Throws InputError if nobody says what a node of it draws: then a cap means nothing.
void check_power_cap(const SaidPowerCap& cap, const Platform& platform);
/// Throws InputError if there are no counters of energy in this folder, if one is given.
void check_power_from(const std::string& folder);
/// The same of a corridor.
void check_corridor(const SaidCorridor& corridor, const Platform& platform);
/// Equal for corridors that are; "none".
std::string text_of_corridor(const std::vector<CorridorLine>& lines);

/// Somebody asked for what is not possible; the answer says so.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Client {
  std::uint64_t id = 0;
  LineSocket lines;
  Owner peer{};
  std::vector<gid_t> groups{};  // supplementary ones
  std::chrono::steady_clock::time_point heard{};
  std::set<std::uint64_t> waits{};  // for the ends of these batches
  bool is_owed = false;             // an answer
  bool has_part = false;            // of one, and the rest is to come
  bool is_asking = false;           // a child: nothing more is read until it has answered

  /// For an answer, or for a job.
  bool is_waiting() const { return is_owed || is_asking || !waits.empty(); }
};

class Controller {
 public:
  /// With what is in the folder of the state, which nobody else has.
  Controller(const ServeSettings& settings, const Registry& registry,
             const std::function<ServeSettings()>& reload, World& world,
             const MachineClocks& clocks = MachineClocks::real());
  /// Serves. What it cannot go on after is told to those who have no answer, and thrown.
  void run();

  // ---- The parts of that
  /// Takes up what there is, and listens.
  void begin();
  /// Waits until something happens, but not longer than this, and sees to all that has happened.
  void turn(Duration most = Duration::max());
  /// For how long there is nothing to do if nothing happens.
  Duration until_next() const;
  /// Leaves all to the next one.
  void end();
  const Core& core() const { return core_; }

 private:
  using Json = nlohmann::ordered_json;

  // ---- The core and its journal --------------------------------------------------------------
  Core make_core();
  Past past() const;
  void recover();
  void open();
  /// Of the instant that is open; there is none before `open`.
  Time instant() const { return instant_.value(); }
  bool tell(const Event& event);
  void tell_policy(const Policy& policy);
  PolicyProcess::Terms terms(const ServeSettings& settings, const Capabilities& capabilities) const;
  /// Of the policy, if it has one of its own.
  PolicyProcess* process() const { return process_of(*policy_); }
  std::optional<Json> policy_process() const;
  bool may_look_ahead() const;
  void look_ahead();
  void take_choice();
  void settle();
  void close();
  void carry_out();
  bool has_orders() const { return !is_lost_ && (!orders_.empty() || !starts_.empty()); }
  void meet();
  void refuse_other_kind(const World::Description& there) const;
  void look_at_machine();
  void say_what_it_lacks(const std::string& before) const;
  /// What there is for jobs: without the nodes that are gone.
  Platform machine() const;
  NodeSet all_nodes() const;
  std::optional<Time> lost_since() const;
  std::optional<double> lost_since_s() const;
  /// What the cluster cannot do and the policy needs.
  std::optional<std::string> lacks() const;
  void note_sizes();
  void note_size(JobId id, Time since);
  Told as_asked(Told told) const;
  bool must_wait(const WorldEvent& happened) const;
  void hear();
  void collect();
  void on_happened(Arrived& arrived);
  std::string arrive(Arrived& arrived, const std::optional<std::vector<gid_t>>& groups);
  void make_sound(Submission& what, std::uint32_t user, const Batch* known) const;
  std::string why_impossible(Submission& what, std::uint32_t user, bool is_accepted,
                             const Batch* known) const;
  void judge_all_fits();
  void judge_fits();
  void judge_fit(std::uint64_t number);
  /// Who did not fit into the reservation that he names may fit where there is none; and for whose
  /// list of nodes there was no room, when others are gone.
  void judge_those_who_may_have_room();
  void judge_those_that_wait_for(std::uint64_t first, std::uint64_t end);
  bool judges_fits() const { return !unjudged_.empty() && !is_busy(); }
  void on_changed(Arrived& arrived);
  void tell_changes();
  void submit_again();
  void on_happened(const Told& as_it_is);
  void on_happened(const Measured& measured);
  void on_happened(const Paused& paused) { metrics_.paused(paused.seconds); }
  void on_happened(const Withdrawn&) { metrics_.withdrawn(1); }
  void on_happened(const Stranger& as_it_is);
  void on_happened(const Changed&) { look_at_machine(); }
  void hold_stranger(std::uint64_t number);
  void count_resize(const event::Resized& resized);
  std::string metrics() const;
  /// How a job ended, besides its state: for people.
  struct HowItEnded {
    std::optional<int> exit_code{};
    std::string reason{}, note{};
    LostOutput lost{};
    std::optional<Time> ended{};  // not now
  };
  Time when_ended(const Told& told, JobId id) const;
  HowItEnded how_it_ended(const Told& told) const;
  void on_over(JobId id, EndState state, const HowItEnded& how);
  void on_suspended(JobId id);
  void keep_held(JobId id);
  std::string outcome(std::uint64_t number) const;
  void on_requeued(JobId id, const std::string& note, std::optional<Time> ended);
  void end(JobId id, Ending why);
  Time end_of(JobId id) const;
  Time due(JobId id) const;
  void raise_predictions();
  void follow_wall();
  void recall();
  void learn();
  void believe(JobId id);
  void learn_from_end(JobId id, const Told& told);
  void learn_from_measurements(JobId id);
  void note_seen(JobId id, Nodes nodes, const Observed& seen);
  /// What a running job draws, all of its nodes together: as it was measured last.
  struct Draw {
    double watts = 0;
    Nodes nodes = 0;
  };
  void note_draw(JobId id, Nodes nodes, double watts);
  bool is_other_draw(JobId id) const;
  void believe_draw(JobId id);
  void forget_draw(JobId id);
  double believed_w(const Job& job) const;
  std::optional<double> measured_w(JobId id) const;
  void keep_limits();
  void judge();
  void judge_more();
  UserLimits user_limits() const {
    return {.jobs = settings_.max_running_jobs_per_user,
            .nodes = settings_.max_running_nodes_per_user};
  }
  /// Of a job that is not over; and has there ever been one of this number?
  std::uint64_t number_of(JobId id) const { return jobs_.numbers().of(id); }
  bool was_there(std::uint64_t number) const {
    return jobs_.numbers().id_of(number) != JobId::none || journal_.knows(number);
  }
  JobFacts facts(JobId id) const;
  Submission submission_of(JobId id) const;

  // ---- Requests that are too long for a turn -------------------------------------------------
  /// A part of one. It takes a few milliseconds, and gives the answer when all is done.
  using Part = std::function<std::optional<std::string>()>;
  struct LongRequest {
    std::uint64_t client = 0;  // 0: nobody waits for it
    bool is_question = false;  // which nobody needs answered once the client has gone
    Part part{};
  };
  /// A request that may not begin yet.
  struct LateRequest {
    std::uint64_t client = 0;
    std::string line{};
  };
  /// What a user has submitted, until it has arrived in the world.
  struct Submitting {
    Owner owner{};
    Submission what{};
    struct Asker {
      std::uint64_t client = 0;
      bool waits = false;  // for its end
    };
    std::vector<Asker> askers{};
    std::size_t count() const { return std::max<std::size_t>(what.array.count(), 1); }
  };
  /// A job, or an array whose tasks are added over several turns.
  struct Adding {
    std::uint64_t first = 0;
    JobSpec spec{};
    std::optional<AdaptiveSpec> adaptive{};
    std::shared_ptr<const Where> where{};
    std::optional<Speedup> learned{};
    Duration asked{};
    JobRow row{};
    std::shared_ptr<Batch> batch{};
    bool is_kept = false;  // from the policy, at first
    std::string text{};    // what was submitted
    std::size_t next = 0;  // task

    /// One more than the number of the last one.
    std::uint64_t end() const { return first + std::max<std::size_t>(batch->tasks.size(), 1); }
    bool has(std::uint64_t number) const { return number >= first && number < end(); }
  };
  std::string in_parts(Client& client, bool is_question, Part part);
  std::string to_each(Client& client, std::vector<JobId> jobs, std::function<void(JobId)> change);
  void go_on();
  bool go_on(LongRequest& request);
  void catch_up(Turns<LateRequest>& late);
  /// A change of a job, or of an array over several turns.
  struct Changing {
    std::shared_ptr<Batch> batch{};
    std::vector<JobId> jobs{};
    JobSpec spec{};  // of those that wait
    std::shared_ptr<const Where> where{};
    Change kind = Change::some;
    std::size_t next = 0;   // of the jobs
    bool is_begun = false;  // it will be made, whatever happens
  };
  bool is_busy() const { return adding_ || changing_; }
  bool may_catch_up() const {
    return (!is_busy() && !late_.empty()) || (!adding_ && !late_submissions_.empty());
  }
  bool has_long_requests() const { return !long_.empty() || may_catch_up() || judges_fits(); }
  bool must_wait(const Json& request) const;
  void begin_adding(const Owner& owner, Submission what, Time submitted, std::uint64_t first,
                    std::size_t next = 0);
  bool add_tasks();
  std::uint32_t account_of(const Submission& what);
  std::optional<Speedup> learned(std::uint32_t user, const Batch& batch) const;
  std::optional<std::string> added(const Submitting::Asker& asker, const std::string& line);
  void add_what_is_missing();
  bool was_suspended(JobId id) const;
  bool runs(JobId id) const { return core_.job(id).status == Status::running; }
  std::string only_its_limit(JobId id) const;
  Part of_change(Part part);
  bool hide_tasks();
  void hide(JobId id);
  void begin_change(Submission what);
  void begin_change();
  bool change_tasks();
  void change(JobId id, const Changing& its);
  bool has_other_watts(JobId id, const Submission& what) const;
  void tell_watts(JobId id, const Submission& what);
  void hold_or_release(JobId id, bool holds);
  void end_change();
  void change_what_is_left();

  // ---- Those who ask -------------------------------------------------------------------------
  void accept_clients();
  static bool may_come(std::uint32_t user);
  void let_in(Descriptor socket, const Owner& peer, std::vector<gid_t> groups);
  void on_event(TcpDoor::Event event);
  void wait_for_descriptors();
  void serve_clients();
  void serve(Client& client);
  static std::string answer_of(const std::function<std::string()>& request);
  void answer_to(Client& client, const std::function<std::string()>& request);
  static Json parse_request(const std::string& line);
  Client* find(std::uint64_t client);
  void reply(std::uint64_t client, std::string answer);
  void send(Client& client, std::string_view answer);
  void send_part(std::uint64_t client, JsonText& text);
  void keep_to_bounds(Client& client) const;
  std::string on_line(Client& client, const std::string& line);
  std::string on_request(Client& client, const Json& request);
  std::string on_submit(Client& client, const Json& request);
  std::string on_wait(Client& client, const Json& request);
  std::string on_job(Client& client, const Json& request);
  std::string wait_for(Client& client, std::string answer, std::uint64_t number);
  void tell_waiting(std::uint64_t number);
  void forget_clients();
  std::string on_queue(Client& client, const Json& request);
  std::string on_nodes() const;
  std::string on_history(Client& client, const Json& request);
  void write_history(JsonText& text, const JobRow& job) const;
  std::string on_hold(Client& client, const Json& request, bool holds);
  std::string on_end(Client& client, const Json& request, Ending why);
  Json on_resize(const Client& client, const Json& request);
  Json on_migrate(const Client& client, const Json& request);
  std::string on_suspend(Client& client, const Json& request);
  std::string on_resume(Client& client, const Json& request);
  std::string on_update(Client& client, const Json& request);
  bool waits_for(std::uint64_t number, const std::vector<Dependency>& dependencies) const;
  JobSpec spec_within_limits(const Submission& what) const;
  JobSpec spec_of_user(Submission& what) const;
  void note_user(Submission& what, std::uint32_t user) const;
  std::string partition_of(const Submission& what) const;
  std::shared_ptr<const Where> where_within(const Submission& what) const;
  const Where& where_of_job(JobId id) const;
  Json on_drain(const Client& client, const Json& request);
  Json on_reserve(const Client& client, const Json& request);
  Json on_unreserve(const Client& client, const Json& request);
  Json on_reservations() const;
  Json on_power(const Client& client, const Json& request);
  Json corridor_json() const;
  void take_power_cap();
  void take_corridor();
  const CorridorLine* corridor_now() const;
  Time next_corridor() const;
  void tell_power();
  void keep_corridor();
  void set_corridor(const std::vector<CorridorLine>& lines);
  void set_power_cap(double cap_w);
  void write_power();
  void recall_power();
  void watch_power();
  std::string power_cap_warning() const;
  std::string corridor_warning() const;
  const Booking* booking_named(const std::string& name) const;
  const Booking* booking_of(const Submission& what) const;
  void attach(Submission& what, std::uint32_t user) const;
  void check_time(const Submission& what) const;
  void check_lists(const Submission& what, std::uint32_t user, const Batch* known) const;
  void on_explain(Client& client, const Json& request);
  void on_predict(Client& client, const Json& request);
  void check_all();
  void ask_child(Client& client, BackgroundQueries::Work work,
                 std::function<Json(const std::string&)> read);
  bool is_operator(const Client& client) const { return is_operator(client.peer.user); }
  bool is_operator(std::uint32_t user) const;
  void charge(const Client& client, std::size_t jobs);
  void check_priority(const Client& client, std::int32_t priority,
                      std::optional<std::int32_t> given) const;
  bool is_idle(const Client& client) const;
  void watch_nodes(const Told& told);
  void change_nodes(const NodeSet& nodes, Health health, const std::string& reason);
  void end_if_gone(JobId id);
  void end_for_its_nodes(JobId id);
  NodeHealth recall_health() const;
  void tell_health(const NodeSet& nodes);
  std::string why_not_up(const NodeSet& nodes) const;
  bool makes_room(std::uint32_t user, bool has_descriptor);
  void tell_refusal(const std::string& why);
  /// What users call a job.
  struct JobName {
    std::uint64_t number = 0;
    std::optional<std::uint32_t> task{};
    auto operator<=>(const JobName&) const = default;
  };
  Json end_of_job(const Owner& peer, const JobName& name) const;
  static JobName parse_name(const Json& name);
  static std::string text_of(const JobName& name);
  std::optional<JobRow> row_named(const JobName& name) const;
  JobRow row_asked_for(const Json& name, const char* remedy) const;
  std::set<JobName> names_in(const Json& names) const;
  std::vector<JobId> jobs_named(const JobName& name) const;
  std::vector<JobId> jobs_of(const Client& client, const Json& names) const;
  JobId first_of_wrong(const std::vector<JobId>& jobs,
                       const std::function<bool(JobId)>& is_wrong) const;
  std::vector<JobId> releasable(const Client& client, std::vector<JobId> jobs) const;
  std::vector<JobId> those_that(const std::vector<JobId>& jobs, bool run) const;
  std::string_view reason_of(JobId id) const;
  bool is_first(JobId id) const;
  /// What is shown of a job besides what it is.
  struct Shown {
    std::string_view reason{};
    Time end{};  // while it runs
    LostOutput lost{};
    std::optional<double> mtct{}, believed_w{}, measured_w{};
  };
  /// A job as it was at one moment; its row is written later.
  struct ShownLater {
    LiveJob live;
    Job job;
    Shown more;
  };
  Shown shown(JobId id) const;
  void write_row(JsonText& text, const LiveJob& live, const Job& job, const Shown& its, Time now,
                 bool runs) const;
  Json delays_of(Party::Kind kind) const;
  Json uses() const;

  /// Read again, at SIGHUP.
  struct NextSettings {
    ServeSettings settings{};
    std::shared_ptr<const Policy> policy{};  // null: as it was
    std::shared_ptr<Policy> in_making{};     // it, while its process loads it
  };
  void on_signal();
  void reload();
  NextSettings settings_read_again() const;
  bool is_made(NextSettings& next);
  void take_up(NextSettings next);
  void take_signals();

  ServeSettings settings_;
  const Registry& registry_;
  const std::function<ServeSettings()>& reload_;
  World& world_;
  Journal journal_;
  EventCounts counts_{};
  std::shared_ptr<const Policy> policy_;  // of the settings; made with the core
  Core core_;
  std::shared_ptr<const Policy> ruling_;  // it, or the member of it that rules
  bool is_to_reload_ = false;
  std::optional<NextSettings> next_{};  // while a policy of theirs is in the making
  LookAheads look_aheads_{};
  bool is_looking_ahead_ = false;                 // a child
  std::optional<event::ConfigChanged> choice_{};  // of it, for the next turn
  Circumstances circumstances_{core_};            // of what becomes of it
  Accounts accounts_;
  RuntimePrediction predictions_{};
  Applications applications_{};
  Measurements measurements_{};
  std::map<JobId, Draw> draws_{};
  std::set<JobId> other_draws_{};  // that are to be believed
  double cap_w_ = 0;               // of power; infinity: any
  double low_w_ = 0;               // that the world has told, where there is no corridor
  std::optional<std::vector<CorridorLine>> corridor_{};  // by the clock of schedules
  Time corridor_due_ = kNever;                           // another line of it begins
  CorridorWatch corridor_watch_{};
  Time learn_at_{};                      // not before
  TimeSlice judging_{TimeSlice::kTurn};  // of this turn
  ScheduleClock clock_;
  Duration booked_ahead_{};  // as the journal has it
  /// The first jobs in the queue of those that may run on the same nodes.
  struct Heads {
    std::uint64_t changes = 0, decisions = 0, passes = 0, jobs = 0;  // as of these
    std::vector<JobId> jobs_first{};
  };
  mutable Heads heads_{};
  Metrics metrics_{};
  NodeWatch nodes_{};
  NodeHealth health_{};
  std::map<std::uint32_t, std::string> node_reasons_{};  // why they have no more jobs
  std::unique_ptr<MetricsServer> metrics_server_{};
  std::unique_ptr<HttpChild> http_{};
  Descriptor signals_{};
  Descriptor listener_{};
  std::unique_ptr<TcpDoor> tcp_door_{};
  Descriptor spare_{};  // with which operators get in when there is no other
  JobRegistry jobs_;    // not over
  std::vector<std::unique_ptr<Client>> clients_{};  // in the order of their numbers
  std::uint64_t next_client_ = 1;
  std::size_t max_clients_ = 4096;
  std::size_t served_ = 0;
  std::map<std::uint32_t, Allowance> changes_{};  // of jobs, by user
  Turns<Client*> ready_{};                        // to be served
  bool has_requests_ = false;                     // of clients, that had to wait for the next turn
  Time accept_at_{};                              // clients; not before
  Allowance refusals_{1, std::chrono::seconds(10)};              // that are told
  std::set<std::pair<std::uint64_t, std::uint64_t>> waiting_{};  // for a batch's end, clients
  std::vector<std::pair<std::uint64_t, std::string>>
      outbox_{};                   // what clients hear once it is durable
  std::optional<Time> instant_{};  // that is open
  bool has_resize_ = false;        // an answer to one, in it
  using Order = std::variant<Decision, std::pair<JobId, Ending>>;
  std::deque<WorldEvent> heard_{};                  // and not looked at yet
  std::map<std::string, Submitting> submitting_{};  // by ticket
  std::deque<Order> orders_{};      // durable ones, which the world has not heard of yet
  std::deque<Order> starts_{};      // the same, for when there is no other
  std::vector<Decision> closed_{};  // decisions of this instant
  std::vector<std::pair<JobId, Ending>> endings_{};  // that become orders once they are durable
  std::vector<std::uint64_t> over_{};  // what these jobs have left can go once that is durable
  bool is_lost_ = false;               // the world is out of reach
  Time lost_at_{};                     // and that was noticed
  bool is_met_ = false;                // it was not, once
  bool must_ask_ = false;              // the policy, at the next close
  BackgroundQueries queries_{};
  Snapshots snapshots_{journal_, settings_.state};
  Turns<LongRequest> long_{};
  std::optional<Adding> adding_{};      // all tasks of an array follow one another
  std::optional<Changing> changing_{};  // one at a time
  std::set<std::uint64_t> untold_{};    // changes of jobs, which the world has not heard of
  std::size_t reservations_over_ = 0;   // so many, when this was looked at last,
  std::size_t cells_ = 0;               // and so many cells
  std::set<std::uint64_t> unjudged_{};  // batches: does what waits of them (still) fit here?
  Turns<LateRequest> late_{};           // for after these
  Turns<LateRequest> late_submissions_{};
  bool is_ended_ = false;
  bool had_jobs_ = false;
};

}  // namespace ductile
