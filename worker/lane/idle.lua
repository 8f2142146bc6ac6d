-- Says whether more jobs wait, right after a worker took one. When none do, removes the marker with which BullMQ would
-- wake a worker in vain.
-- KEYS  1 wait   2 prioritized   3 delayed   4 marker
-- ARGV  none
-- Reply {1 when jobs wait or 0, ms since the epoch when the next delay ends or 0}
local UNITS = 0x1000
if redis.call('LLEN', KEYS[1]) > 0 or redis.call('ZCARD', KEYS[2]) > 0 then
  return { 1, 0 }
end
redis.call('ZREM', KEYS[4], '0')
local next = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')[2]
return { 0, next and math.floor(tonumber(next) / UNITS) or 0 }
