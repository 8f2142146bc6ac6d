-- Settles a reservation: frees its holds and enters the real costs as spent. A call that is sent again because its reply was
-- lost settles nothing twice.
-- KEYS  1 reservations   2 mark of the settled reservation   3 absent, for the books, which it names: see keys.ts
-- ARGV  1 the reservation (JSON)   2 life of the mark, in seconds   then the amount spent of each limit
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
