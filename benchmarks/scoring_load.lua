-- wrk's side of scoring_load.py: every request is a new submission with an id of its own.
-- Arguments: folder with body.csv and tokens.txt, submissions in all, number of threads, number of the first thread.
local counter = 0
local threads = {}

function setup(thread)
  thread:set("number", counter)
  counter = counter + 1
  table.insert(threads, thread)
end

function init(args)
  folder = args[1]
  number = number + tonumber(args[4])
  share = math.ceil(tonumber(args[2]) / tonumber(args[3]))
  local file = io.open(folder .. "/body.csv", "rb")
  body = file:read("*a")
  file:close()
  tokens = {}
  for line in io.lines(folder .. "/tokens.txt") do
    table.insert(tokens, line)
  end
  log = io.open(folder .. "/acknowledged-" .. number .. ".txt", "w")
  math.randomseed(1000 + number)
  sent, answered, good, refused = 0, 0, 0, 0
end

function request()
  sent = sent + 1
  local token = tokens[(sent * tonumber(2) + number) % #tokens + 1]
  local headers = {
    ["Authorization"] = "Bearer " .. token,
    ["Content-Type"] = "text/csv",
    ["Idempotency-Key"] = "w" .. number .. "-" .. sent,
  }
  -- the last row differs, so that no answer is a remembered one
  return wrk.format("POST", nil, headers, body .. string.format("%.17g", math.random()) .. "\n")
end

function response(status, headers, answer)
  answered = answered + 1
  if status == 201 then
    good = good + 1
    log:write(answer, "\n")
  else
    refused = refused + 1
  end
  if answered >= share then
    log:flush()
    wrk.thread:stop()
    io.open(folder .. "/finished-" .. number .. ".txt", "w"):close()
  end
end

function done(summary, latency, requests)
  local total, no = 0, 0
  for _, thread in ipairs(threads) do
    total = total + thread:get("good")
    no = no + thread:get("refused")
  end
  io.write(string.format(
    'RESULT {"acknowledged": %d, "refused": %d, "seconds": %.3f, "p50": %.6f, "p99": %.6f, "max": %.6f, "socket_errors": %d}\n',
    total, no, summary.duration / 1e6, latency:percentile(50) / 1e6, latency:percentile(99) / 1e6, latency.max / 1e6,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout))
end
