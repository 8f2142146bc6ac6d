-- Reads in one step the counts that show whether every accepted message is settled or still in the stream. If no script has
-- counted yet, the stream's length serves as `accepted`; ARGV 1 says whether to store it.
-- KEYS  1 counts   2 inbound
-- ARGV  1 '1' to create missing counts, '' to change nothing
-- Reply {accepted, settled, pending, 1 if there were counts before, else 0, ms since the epoch at which the open alarm was
--        raised, else 0, number of messages that the alarm reported, else 0}
local pending = redis.call('XLEN', KEYS[2])
local counts = redis.call('HMGET', KEYS[1], 'accepted', 'settled', 'alarmedAtMs', 'alarmedFor')
if not counts[1] and ARGV[1] == '1' then
  redis.call('HSET', KEYS[1], 'accepted', pending)
end
return {
  tonumber(counts[1] or pending) or 0,
  tonumber(counts[2] or 0) or 0,
  pending,
  counts[1] and 1 or 0,
  tonumber(counts[3] or 0) or 0,
  tonumber(counts[4] or 0) or 0,
}
