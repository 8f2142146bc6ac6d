-- Makes or renews a reservation: puts the highest cost of a call on hold in the book of each limit (the hash with the
-- spending of a period). Makes none if the lowest cost would exceed a limit. First ends the reservations of dead processes:
-- frees the amounts on hold and enters the certain costs of their calls as spent.
-- KEYS  1 reservations   2 absent: a key that never exists; it defers the script while the cluster moves the shard
-- ARGV  1 ms until a reservation ends unless it is renewed   2 the reservation (JSON): its id, and for each limit {book,
--       field, highest cost, certain cost}   then for each limit: lowest cost, limit, seconds to store the book; none to renew
-- Reply 0 if made, and for each renewal; -1 if the call must wait until others settle; or the number of a limit that is used up
-- include: time, held
local now = now_ms()
for _, lapsed in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 100)) do
  redis.call('ZREM', KEYS[1], lapsed)
  for _, hold in ipairs(cjson.decode(lapsed)[2]) do
    enter_spent(hold, hold[4], true)
  end
end
-- If the clock stepped back, reservations end too far in the future. Shorten them, so that those of dead processes lapse.
for _, reservation in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now + ARGV[1], '+inf', 'LIMIT', 0, 100)) do
  redis.call('ZADD', KEYS[1], now + ARGV[1], reservation)
end
-- This is a renewal, or the repeat of a request whose reply was lost.
if #ARGV == 2 or redis.call('ZSCORE', KEYS[1], ARGV[2]) then
  redis.call('ZADD', KEYS[1], 'XX', now + ARGV[1], ARGV[2])
  return 0
end

local holds, has_room = cjson.decode(ARGV[2])[2], true
for i, hold in ipairs(holds) do
  local least, limit = tonumber(ARGV[3 * i]), tonumber(ARGV[3 * i + 1])
  local spent = tonumber(redis.call('HGET', hold[1], hold[2]) or 0)
  local on_hold = tonumber(redis.call('HGET', hold[1], hold[2] .. ':held') or 0)
  if spent + least > limit then
    redis.call('HSET', hold[1], hold[2] .. ':refused', ARGV[3 * i + 1])
    redis.call('EXPIRE', hold[1], ARGV[3 * i + 2])
    return i
  end
  has_room = has_room and spent + on_hold + least <= limit
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
