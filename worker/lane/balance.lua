-- Reads at one moment whether every message that was accepted is settled or still in the stream. The first who counts
-- on data that was never counted begins with what is in the stream, whichever script that is.
-- KEYS  1 counts   2 inbound
-- ARGV  1 '1' to begin the counts where there are none, '' to change nothing
-- Reply {accepted, settled, pending, 1 when there were counts before or 0, ms since the epoch when the alarm was raised
--        or 0, for how many or 0}
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
