-- Jobs of Ductile's partitions wait until its controller starts them: on the nodes, and at the size, that it
-- chooses. This is a script of Slurm's plugin job_submit/lua (JobSubmitPlugins=lua; 22.05); its place is beside
-- slurm.conf. What it writes for the controller is in docs/formats/slurm-comment.md, what it refuses and how it
-- is set up in docs/guide/slurm.md. Jobs of other partitions are not touched.
--
-- Slurm takes an error in such a script for consent. So all of it is called by `guarded`, and an error refuses
-- the job.

-- The site's values are in this file, which is read when the script is: after a change, touch the script. A
-- site with a script of its own says `dofile` of this one in it, and calls both functions.
local settings_file = os.getenv("DUCTILE_SLURM_LUA") or "/etc/ductile/slurm.lua"
local settings = {
  partitions = { "adaptive" },
  controller = "/run/ductile-slurm/socket", -- where jobs find it: a path, or HOST:PORT
  hands_over_file = "/run/ductile-slurm/hands-over", -- while it exists Slurm itself starts the jobs
}

local VERSION = 1
local MOST_TEXT = 900 -- bytes; Slurm's comments have 1023 at most
-- slurm_errno.h
local ESLURM_JOB_NOT_NOW = 2020 -- "Job can not be altered now, try again later"
local ESLURM_NOT_SUPPORTED = 2036 -- "Requested operation not supported on this system"
local JOB_PENDING = 0 -- slurm.h; the states are the lowest eight bits
local KEYS = { "type", "nodes", "min", "max", "sizes", "model", "watts", "tasks", "hold" }
local OPTIONS = {
  ["-N"] = "nodes",
  ["--nodes"] = "nodes",
  ["--type"] = "type",
  ["--min-nodes"] = "min",
  ["--min-nodes-invasic"] = "min",
  ["--max-nodes"] = "max",
  ["--max-nodes-invasic"] = "max",
  ["--sizes"] = "sizes",
  ["--node-constraints"] = "constraint",
  ["--model"] = "model",
  ["--watts"] = "watts",
}
local TYPES = { rigid = true, moldable = true, malleable = true, evolving = true, adaptive = true }

-- Refuses the job: what is wrong, and what to do.
local function refuse(code, text, ...)
  error({ code = code, text = string.format(text, ...) })
end

local function given(value, nothing)
  return value ~= nil and value ~= nothing
end

-- The user that slurmctld runs as, SlurmUser.
local function own_uid()
  for line in io.lines("/proc/self/status") do
    local uid = line:match("^Uid:%s+(%d+)")
    if uid then
      return tonumber(uid)
    end
  end
end

local slurm_user = own_uid()

local function is_privileged(uid)
  return uid == 0 or uid == slurm_user
end

local function exists(path)
  local file, _, code = io.open(path)
  if file then
    file:close()
  end
  return file ~= nil or code ~= 2 -- ENOENT
end

-- Whether one of these, A,B, is ours; and whether there are others.
local function ours_among(partitions)
  local ours, others = nil, false
  for name in partitions:gmatch("[^,]+") do
    if settings.is_ours[name] then
      ours = name
    else
      others = true
    end
  end
  return ours, others
end

-- What users write -----------------------------------------------------------------------------------------

-- The words of a line. Blanks within quotes belong to a word, and a word that begins with # is a comment.
local function words_of(line, place)
  local words, word, quote = {}, nil, nil
  for c in line:gmatch(".") do
    if not quote and c:match("%s") then
      words[#words + 1] = word
      word = nil
    elseif not quote and not word and c == "#" then
      return words
    elseif c == quote then
      quote = nil
    elseif not quote and (c == '"' or c == "'") then
      quote, word = c, word or ""
    else
      word = (word or "") .. c
    end
  end
  if quote then
    refuse(ESLURM_NOT_SUPPORTED, "%s: the quote %s is not closed; close it", place, quote)
  end
  words[#words + 1] = word
  return words
end

-- Written as option=value in `options`; the last one counts.
local function read_options(line, place, options)
  local words = words_of(line, place)
  local i = 1
  while i <= #words do
    local word = words[i]
    local name, value = word:match("^(%-%-[^=]+)=(.*)$")
    if not name and word:match("^%-%w.") then
      name, value = word:sub(1, 2), word:sub(3)
    end
    name = name or word
    if not OPTIONS[name] then
      refuse(
        ESLURM_NOT_SUPPORTED,
        "%s: '%s' is no option here; use --type, --nodes, --min-nodes, --max-nodes, --sizes, --model or --watts, "
          .. "and #SBATCH lines for Slurm's own",
        place,
        word
      )
    end
    if not value then
      i = i + 1
      value = words[i] or refuse(ESLURM_NOT_SUPPORTED, "%s: %s has no value; write one behind it", place, name)
    end
    local option = OPTIONS[name]
    options[option] = { value = value, place = place .. ": " .. name }
    if option == "sizes" or option == "constraint" then
      options[option == "sizes" and "constraint" or "sizes"] = nil
    end
    i = i + 1
  end
end

-- Of the #DUCTILE lines before the first command of a script.
local function read_script(script, options)
  local number = 0
  for line in script:gmatch("([^\n]*)\n?") do
    number = number + 1
    line = line:gsub("\r$", "")
    if line:match("%S") and not line:match("^#") then
      return
    end
    local rest = line:match("^#DUCTILE%s+(.*)$")
    if rest then
      read_options(rest, string.format("line %d of the script: #DUCTILE", number), options)
    end
  end
end

local function read_comment(comment, options)
  local rest = comment and comment:match("^%s*ductile:(.*)$")
  if rest then
    read_options(rest, "--comment: ductile", options)
  end
  return rest ~= nil
end

local function nodes_of(text, place)
  local number = text:match("^%d+$") and tonumber(text)
  if not number or number < 1 or number > 16777216 then
    refuse(slurm.ESLURM_INVALID_NODE_COUNT, "%s: '%s' is no number of nodes; write it like 4", place, text)
  end
  return number
end

local function number_of(text, place, least, most, is_size)
  local is_plain = text:match("^[%d.]+$") or text:match("^[%d.]+[eE][+-]?%d+$")
  local number = is_plain and tonumber(text)
  if not number or number < least or number > most or (is_size and number % 1 ~= 0) then
    refuse(ESLURM_NOT_SUPPORTED, "%s: '%s' is no number from %g to %g", place, text, least, most)
  end
  return number
end

local function parts_of(text)
  local parts = {}
  for part in (text .. ":"):gmatch("([^:]*):") do
    parts[#parts + 1] = part
  end
  return parts
end

-- Sizes ascend: "list:1:2:6", "table:1=10:2=6".
local function check_ascending(parts, place)
  local last = 0
  for i = 2, #parts do
    local size, time = parts[i], nil
    if parts[1] == "table" then
      size, time = parts[i]:match("^(.-)=(.*)$")
      number_of(time or "", place, 1e-12, 1e12)
    end
    local number = number_of(size, place, 1, 4294967294, true)
    if number <= last then
      refuse(ESLURM_NOT_SUPPORTED, "%s: sizes do not ascend; write each once, the smallest first", place)
    end
    last = number
  end
end

local function check_sizes(text, place)
  local parts = parts_of(text)
  local bare = { any = true, pof2 = true, even = true, odd = true, cubic = true }
  if bare[text] then
    return
  elseif (parts[1] == "multiple" and #parts == 2) or (parts[1] == "list" and #parts > 1) then
    return check_ascending(parts, place)
  end
  refuse(
    ESLURM_NOT_SUPPORTED,
    "%s: there are no sizes '%s'; use any, pof2, even, odd, cubic, multiple:N or list:N:N:...",
    place,
    text
  )
end

local function check_model(text, place)
  local parts = parts_of(text)
  local kind = parts[1]
  if text == "linear" then
    return
  elseif (kind == "powerlaw" or kind == "amdahl" or kind == "overhead") and #parts == 2 then
    number_of(parts[2], place, 0, 1)
  elseif kind == "downey" and #parts == 3 then
    number_of(parts[2], place, 1, 1e12)
    number_of(parts[3], place, 0, 1e12)
  elseif kind == "table" and #parts > 1 then
    check_ascending(parts, place)
  else
    refuse(
      ESLURM_NOT_SUPPORTED,
      "%s: there is no model '%s'; use linear, powerlaw:RHO, amdahl:S, overhead:X, downey:A:SIGMA or "
        .. "table:N=TIME:N=TIME:...",
      place,
      text
    )
  end
end

local function check_watts(text, place)
  local first, last = text:match("^([%d.]+)%-([%d.]+)$")
  first = tonumber(first or (text:match("^[%d.]+$") and text))
  last = last and tonumber(last) or first
  if not first or not last or first <= 0 or last < first or last > 1e6 then
    refuse(
      ESLURM_NOT_SUPPORTED,
      "%s: '%s' is neither W nor MIN-MAX, watts of a node, above 0 and at most 1000000",
      place,
      text
    )
  end
end

-- What paper 003 calls them.
local function sizes_of_constraint(text)
  local name = text:lower():gsub("[_ ]", "-")
  local is_power = name == "power-of-two" or name == "powers-of-two" or name == "power-of-2"
  return is_power and "pof2" or name
end

-- The text for the controller ------------------------------------------------------------------------------

local function to_text(values)
  local words = { "ductile:" .. VERSION }
  for _, key in ipairs(KEYS) do
    local value = values[key]
    if value then
      words[#words + 1] = key .. "=" .. (type(value) == "number" and string.format("%.0f", value) or value)
    end
  end
  return table.concat(words, " ")
end

-- nil if it is not ours; and what stands behind it.
local function from_text(text)
  local rest = text and text:match("^ductile:" .. VERSION .. " (.*)$")
  if not rest then
    return nil
  end
  local own
  rest, own = (rest .. " ; "):match("^(.-) ; (.*)$")
  own = own:gsub(" ; $", "")
  local values = {}
  for key, value in rest:gmatch("(%w+)=(%S+)") do
    values[key] = (key == "nodes" or key == "min" or key == "max" or key == "tasks") and tonumber(value) or value
  end
  return values, own
end

-- What is written goes into the values, which have already what Slurm was asked for.
local function apply(options, values, most_nodes)
  local has_range = false
  if options.nodes then
    local first, last = options.nodes.value:match("^([^-]*)%-(.*)$")
    values.nodes = nodes_of(first or options.nodes.value, options.nodes.place)
    values.min, values.max = nil, nil
    if last then
      values.min, values.max = values.nodes, nodes_of(last, options.nodes.place)
      has_range = true
    end
  end
  if options.min or options.max then
    values.min = options.min and nodes_of(options.min.value, options.min.place) or values.min
    values.max = options.max and nodes_of(options.max.value, options.max.place) or values.max
    has_range = true
  end
  if options.type then
    values.type = options.type.value
    if not TYPES[values.type] then
      refuse(
        ESLURM_NOT_SUPPORTED,
        "%s: there is no type '%s'; use rigid, moldable, malleable, evolving or adaptive",
        options.type.place,
        values.type
      )
    end
  elseif has_range then
    values.type = "malleable"
  elseif not values.type then
    values.type = (values.min or values.max) and "moldable" or "rigid"
  end
  if options.constraint then
    options.sizes = { value = sizes_of_constraint(options.constraint.value), place = options.constraint.place }
  end
  for key, check in pairs({ sizes = check_sizes, model = check_model, watts = check_watts }) do
    if options[key] then
      check(options[key].value, options[key].place)
      values[key] = options[key].value
    end
  end
  if values.type == "rigid" and (values.min or values.max) then
    refuse(
      slurm.ESLURM_INVALID_NODE_COUNT,
      "a rigid job has one number of nodes; leave out the range, or write --type moldable or malleable"
    )
  elseif values.type ~= "rigid" then
    values.min = values.min or 1
  end
  local max = values.max or most_nodes
  if (values.min or values.nodes) > max or values.nodes < (values.min or 1) or values.nodes > max then
    refuse(
      slurm.ESLURM_INVALID_NODE_COUNT,
      "%d nodes at first are not between %d and %d (--min-nodes, and --max-nodes or the partition's nodes)",
      values.nodes,
      values.min or 1,
      max
    )
  end
end

-- What cannot be kept --------------------------------------------------------------------------------------

-- Of a submission; or else of what an update changes, in which some fields mean nothing.
local function check_kept(job, is_new)
  local function no(what, instead)
    refuse(ESLURM_NOT_SUPPORTED, "%s: not in the partitions of Ductile; %s", what, instead)
  end
  if is_new and given(job.het_job_offset, slurm.NO_VAL) then
    no("heterogeneous jobs", "submit its parts as jobs of their own, or use another partition")
  elseif is_new and job.cron_job then
    no("scrontab", "use another partition")
  elseif is_new and given(job.immediate) and job.immediate ~= 0 then
    no("--immediate", "leave it out; jobs wait until the controller starts them")
  elseif job.req_nodes then
    no("--nodelist", "the controller chooses the nodes; use --exclude or --constraint")
  elseif given(job.contiguous, slurm.NO_VAL16) and job.contiguous ~= 0 then
    no("--contiguous", "leave it out")
  elseif given(job.req_switch, slurm.NO_VAL) and job.req_switch ~= 0 then
    no("--switches", "leave it out; the controller places jobs itself")
  elseif job.features and job.features:match("[%[%]*]") then
    no("--constraint with counts or brackets", "name features with & and | only")
  elseif job.licenses then
    no("--licenses", "nodes would wait idle for them; use another partition")
  elseif job.burst_buffer then
    no("burst buffers", "nodes would wait idle for them; use another partition")
  elseif job.tres_per_job or job.tres_per_socket or job.tres_per_task then
    no("--gpus, --gpus-per-socket and --gpus-per-task", "say what each node has: --gres or --gpus-per-node")
  elseif job.clusters and job.clusters ~= slurm.CLUSTER_NAME then
    no("--clusters", "submit to this cluster alone")
  elseif job.dependency and job.dependency:match("expand:") then
    no("--dependency=expand", "the controller grows jobs itself")
  end
end

-- How many nodes Slurm was asked for.
local function asked_nodes(job, partition)
  if given(job.min_nodes, slurm.NO_VAL) then
    return job.min_nodes
  end
  local tasks = given(job.num_tasks, slurm.NO_VAL) and job.num_tasks or 1
  if given(job.ntasks_per_node, slurm.NO_VAL16) and job.ntasks_per_node > 0 then
    return math.ceil(tasks / job.ntasks_per_node)
  end
  local cpus = given(job.cpus_per_task, slurm.NO_VAL16) and job.cpus_per_task or 1
  return math.max(1, math.ceil(tasks / math.max(1, math.floor(partition.total_cpus / partition.total_nodes / cpus))))
end

local function submit(job, partition, uid)
  if is_privileged(uid) and job.dependency and job.dependency:match("^expand:") then
    return slurm.SUCCESS -- how the controller grows a job
  end
  check_kept(job, true)
  if job.admin_comment then
    refuse(ESLURM_NOT_SUPPORTED, "--admin-comment: it is the controller's here; use --comment")
  end
  local options = {}
  if job.script then
    read_script(job.script, options)
  end
  read_comment(job.comment, options)

  local values = { nodes = asked_nodes(job, partition) }
  if given(job.max_nodes, slurm.NO_VAL) and job.max_nodes > values.nodes then
    values.min, values.max = values.nodes, job.max_nodes
  end
  values.tasks = given(job.num_tasks, slurm.NO_VAL) and job.num_tasks or nil
  apply(options, values, partition.total_nodes)
  if not job.script and values.type ~= "rigid" and values.type ~= "moldable" then
    refuse(ESLURM_NOT_SUPPORTED, "only batch jobs can be %s; submit a script with sbatch", values.type)
  end
  if options.nodes or not given(job.min_nodes, slurm.NO_VAL) then
    -- What Slurm does by itself, should it have to.
    job.min_nodes, job.max_nodes = values.nodes, values.nodes
  end

  values.hold = job.priority == 0 and "user" or nil
  local text = to_text(values)
  if #text > MOST_TEXT then
    refuse(ESLURM_NOT_SUPPORTED, "--sizes and --model are too long: %d bytes of %d; leave something out", #text, MOST_TEXT)
  end
  job.admin_comment = text
  job.shared = slurm.JOB_SHARED_NONE
  if job.script then
    job.environment["DUCTILE_CONTROLLER"] = settings.controller
  end
  if not exists(settings.hands_over_file) then
    job.priority = 0
  end
  return slurm.SUCCESS
end

-- What an ordinary user changes of a job of ours, `record`. Slurm does not let this script change the admin
-- comment then, so that the new text goes in front of the user's own comment.
local function modify(job, record, partition)
  local comment = record.comment or ""
  local values, own = from_text(comment)
  if not values then
    values = from_text(record.admin_comment)
    own = not comment:match("^%s*ductile:") and comment or ""
  end
  if not values then
    return slurm.SUCCESS -- from the time before this script
  end
  check_kept(job, false)
  local is_pending = record.job_state % 256 == JOB_PENDING
  local is_held = record.priority == 0
  local new_nodes = given(job.min_nodes, slurm.NO_VAL) and job.min_nodes
  local new_tasks = given(job.num_tasks, slurm.NO_VAL) and job.num_tasks
  if (new_nodes or new_tasks) and not is_pending then
    refuse(ESLURM_NOT_SUPPORTED, "nodes of running jobs are changed by the controller alone")
  elseif (new_nodes or new_tasks) and not is_held then
    refuse(ESLURM_JOB_NOT_NOW, "it is about to start")
  elseif given(job.nice, slurm.NO_VAL) and is_held then
    -- With priority/basic the new priority would be 2, and Slurm would start the job.
    refuse(ESLURM_NOT_SUPPORTED, "the nice value is not changed while it waits for the controller")
  end
  if new_nodes then
    local last = given(job.max_nodes, slurm.NO_VAL) and job.max_nodes or new_nodes
    values.nodes, values.min, values.max = new_nodes, nil, nil
    if last > new_nodes then
      values.min, values.max = new_nodes, last
      values.type = values.type == "rigid" and "moldable" or values.type
    end
  end
  values.tasks = new_tasks or values.tasks
  local options = {}
  local has_options = read_comment(job.comment, options)
  if has_options and not is_pending then
    refuse(ESLURM_NOT_SUPPORTED, "what is said about a running job is not changed")
  end
  if new_nodes or has_options then
    apply(options, values, partition.total_nodes)
  end
  if given(job.shared, slurm.NO_VAL16) then
    job.shared = slurm.JOB_SHARED_NONE
  end
  local is_hold = job.priority == 0
  local is_new_text = is_hold or job.priority == slurm.INFINITE -- scontrol hold, release
  if is_new_text then
    values.hold = is_hold and "user" or nil
    if is_held and not exists(settings.hands_over_file) then
      job.priority = slurm.NO_VAL
    end
  end
  if is_new_text or new_nodes or new_tasks or job.comment then
    own = job.comment and (has_options and "" or job.comment) or own
    job.comment = to_text(values) .. (own ~= "" and " ; " .. own or "")
  end
  return slurm.SUCCESS
end

-- What Slurm calls -----------------------------------------------------------------------------------------

-- Returns what to tell the user, too.
local function guarded(call, ...)
  local is_done, result = pcall(call, ...)
  if is_done then
    return result
  elseif type(result) == "table" then
    return result.code, result.text
  end
  slurm.log_error("%s", "ductile: job_submit.lua: " .. tostring(result))
  return slurm.ERROR, "the job_submit script of Ductile failed; the log of slurmctld says why"
end

local function default_partition(partitions)
  for name, partition in pairs(partitions) do
    if partition.flag_default == 1 then
      return name
    end
  end
  return ""
end

function slurm_job_submit(job, partitions, uid)
  local ours, has_others = ours_among(job.partition or default_partition(partitions))
  if not ours then
    return slurm.SUCCESS
  end
  local code, text = guarded(function()
    if has_others then
      refuse(ESLURM_NOT_SUPPORTED, "--partition=%s: name one partition alone, since jobs of '%s' are the controller's",
             job.partition, ours)
    end
    return submit(job, partitions[ours], uid)
  end)
  if text then
    slurm.log_user("%s", "ductile: " .. text)
  end
  return code
end

-- Users cannot be told more than the code.
function slurm_job_modify(job, record, partitions, uid)
  if is_privileged(uid) then
    return slurm.SUCCESS
  end
  local ours = ours_among(record.partition or "")
  local wanted = job.partition and ours_among(job.partition)
  if not ours and not wanted then
    return slurm.SUCCESS
  end
  local code, text = guarded(function()
    if job.partition and job.partition ~= record.partition then
      refuse(ESLURM_NOT_SUPPORTED, "jobs do not change to and from the partition '%s'", ours or wanted)
    end
    return modify(job, record, partitions[ours])
  end)
  if text then
    slurm.log_info("%s", string.format("ductile: job %d of user %d is not changed: %s", record.job_id, uid, text))
  end
  return code
end

if exists(settings_file) then
  for key, value in pairs(dofile(settings_file)) do
    if type(value) ~= type(settings[key]) then
      error(string.format("%s: %s: use partitions = { \"NAME\" }, controller and hands_over_file", settings_file, key))
    end
    settings[key] = value
  end
end
settings.is_ours = {}
for _, name in ipairs(settings.partitions) do
  settings.is_ours[name] = true
end

return slurm.SUCCESS
