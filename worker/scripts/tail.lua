-- Reads the newest records of a log, newest first, up to a number of bytes.
-- KEYS  1 log
-- ARGV  1 most bytes to read
-- Reply {records of the log, {record, …}}
local CHUNK = 32
local left = tonumber(ARGV[1])
local size = redis.call('LLEN', KEYS[1])
local records = {}
local first = size
while first > 0 and left > 0 do
  local chunk = redis.call('LRANGE', KEYS[1], math.max(0, first - CHUNK), first - 1)
  for i = #chunk, 1, -1 do
    left = left - #chunk[i]
    if left < 0 and #records > 0 then
      return { size, records }
    end
    records[#records + 1] = chunk[i]
  end
  first = first - #chunk
end
return { size, records }
