-- Settles a reservation, once even if the request is sent again: frees the amounts on hold and enters the real costs as spent.
-- KEYS  1 reservations   2 key that marks the reservation as settled   3 absent: a key that never exists; it defers the script
--       while the cluster moves the shard
-- ARGV  1 the reservation (JSON)   2 seconds to store KEYS 2   then the amount spent of each limit
-- Reply the new sum of each limit; empty if the reservation was settled before
-- include: held
if not redis.call('SET', KEYS[2], 1, 'NX', 'EX', ARGV[2]) then
  return {}
end
local is_held, sums = redis.call('ZREM', KEYS[1], ARGV[1]) == 1, {}
for i, hold in ipairs(cjson.decode(ARGV[1])[2]) do
  sums[i] = enter_spent(hold, tonumber(ARGV[2 + i]), is_held)
end
return sums
