-- Moves a session's oldest records from its log to its archive, as one segment.
-- KEYS  1 session   2 log   3 archive
-- ARGV  1 number of records archived before the segment   2 number of records in it   3 seconds to keep the archive
--       4 segment (binary), or the pointer to its blob   5 latest second, by Redis' clock, at which the pointer is valid
-- Reply 1, or 0 if the log no longer begins with the segment or the second of ARGV 5 has passed: then nothing changes
local count = tonumber(ARGV[2])
if tonumber(redis.call('TIME')[1]) > tonumber(ARGV[5]) then
  return 0
end
if (redis.call('HGET', KEYS[1], 'archived') or '0') ~= ARGV[1] or redis.call('LLEN', KEYS[2]) < count then
  return 0
end
redis.call('RPUSH', KEYS[3], ARGV[4])
redis.call('EXPIRE', KEYS[3], ARGV[3])
redis.call('LTRIM', KEYS[2], count, -1)
redis.call('HINCRBY', KEYS[1], 'archived', count)
return 1
