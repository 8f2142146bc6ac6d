-- Reads records of a log, oldest first, up to a number of records and of bytes, but at least one record if there is one.
-- KEYS  1 session   2 log   3 archive
-- ARGV  1 index to read from, counted from the session's first record   2 maximum number of records   3 maximum number of bytes
-- Reply {number of archived records, number of segments in the archive, {record, …}, seconds since the epoch}; the records
--       begin at the index of ARGV 1, or at the log's first record if that is later
local CHUNK = 32
local archived = tonumber(redis.call('HGET', KEYS[1], 'archived') or 0)
local at = math.max(0, tonumber(ARGV[1]) - archived)
local room = tonumber(ARGV[2])
local bytes_left = tonumber(ARGV[3])
local records = {}
while #records < room and bytes_left > 0 do
  local chunk = redis.call('LRANGE', KEYS[2], at, at + math.min(CHUNK, room - #records) - 1)
  for i = 1, #chunk do
    bytes_left = bytes_left - #chunk[i]
    if bytes_left < 0 and #records > 0 then
      break
    end
    records[#records + 1] = chunk[i]
  end
  at = at + #chunk
  if #chunk < CHUNK then
    break
  end
end
return { archived, redis.call('LLEN', KEYS[3]), records, tonumber(redis.call('TIME')[1]) }
