-- Reads the newest records of a log, newest first, up to a number of bytes, but at least one record if there is one.
-- KEYS  1 log   2 session
-- ARGV  1 maximum number of bytes to read   2 index after the newest record to read, or '' for the log's end; indexes count
--       from the session's first record and include archived records
-- Reply {number of records in the session, index of the oldest record read, {record, …}}
local CHUNK = 32
local bytes_left = tonumber(ARGV[1])
local archived = tonumber(redis.call('HGET', KEYS[2], 'archived') or 0)
local size = archived + redis.call('LLEN', KEYS[1])
local first = math.max(archived, math.min(size, tonumber(ARGV[2]) or size))
local records = {}
while first > archived and bytes_left > 0 do
  local from = math.max(archived, first - CHUNK)
  local chunk = redis.call('LRANGE', KEYS[1], from - archived, first - 1 - archived)
  for i = #chunk, 1, -1 do
    bytes_left = bytes_left - #chunk[i]
    if bytes_left < 0 and #records > 0 then
      return { size, first, records }
    end
    records[#records + 1] = chunk[i]
    first = first - 1
  end
end
return { size, first, records }
