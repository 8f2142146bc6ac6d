-- Reads in one step whether every accepted message is settled or still in the stream. On data that was never counted,
-- the first script to count starts from what is in the stream.
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
