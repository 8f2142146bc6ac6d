-- Holds the most that something may cost in the book of each limit, unless the least of it would exceed one. What the
-- reservations held of processes that are gone is let go first, and what their calls have certainly cost is entered.
-- KEYS  1 reservations   2 absent, for the books, which reservations name: see keys.ts
-- ARGV  1 ms that a reservation lives unless it is renewed   2 the reservation: its id, and for each limit {book, field,
--       most, certain}   3 on, for each limit: least, limit, seconds to keep the book; none: it is renewed
-- Reply 0 when it is held, -1 when there is no room before others have settled, or the number of the limit that is used up
-- include: time, held
local now = now_ms()
for _, lapsed in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 100)) do
  redis.call('ZREM', KEYS[1], lapsed)
  for _, hold in ipairs(cjson.decode(lapsed)[2]) do
    enter_spent(hold, hold[4], true)
  end
end
-- Since the clock stepped back: whoever lives renews it, and what is left of others must not last for as long as the step.
for _, ahead in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now + ARGV[1], '+inf', 'LIMIT', 0, 100)) do
  redis.call('ZADD', KEYS[1], now + ARGV[1], ahead)
end
-- Renewed, or sent again, since the reply was lost.
if #ARGV == 2 or redis.call('ZSCORE', KEYS[1], ARGV[2]) then
  redis.call('ZADD', KEYS[1], 'XX', now + ARGV[1], ARGV[2])
  return 0
end

local holds, has_room = cjson.decode(ARGV[2])[2], true
for i, hold in ipairs(holds) do
  local least, limit = tonumber(ARGV[3 * i]), tonumber(ARGV[3 * i + 1])
  local spent = tonumber(redis.call('HGET', hold[1], hold[2]) or 0)
  local held = tonumber(redis.call('HGET', hold[1], hold[2] .. ':held') or 0)
  if spent + least > limit then
    redis.call('HSET', hold[1], hold[2] .. ':refused', ARGV[3 * i + 1])
    redis.call('EXPIRE', hold[1], ARGV[3 * i + 2])
    return i
  end
  has_room = has_room and spent + held + least <= limit
end
if not has_room then
  return -1
end
for i, hold in ipairs(holds) do
  redis.call('HINCRBY', hold[1], hold[2] .. ':held', whole(hold[3]))
  redis.call('EXPIRE', hold[1], ARGV[3 * i + 2])
end
redis.call('ZADD', KEYS[1], now + ARGV[1], ARGV[2])
return 0
