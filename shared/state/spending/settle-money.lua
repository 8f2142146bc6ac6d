-- Replaces what a reservation holds by what was spent. Once: a reply can be lost, and the command is then repeated.
-- KEYS  1 reservations   2 that it is done   3 absent, for the books, which the reservation names: see keys.ts
-- ARGV  1 the reservation   2 seconds to remember that it is done   3 on: what was spent, for each limit
-- Reply what is then spent, for each limit; empty when it was replaced before
-- include: held
if not redis.call('SET', KEYS[2], 1, 'NX', 'EX', ARGV[2]) then
  return {}
end
local is_held, spent = redis.call('ZREM', KEYS[1], ARGV[1]) == 1, {}
for i, hold in ipairs(cjson.decode(ARGV[1])[2]) do
  spent[i] = enter_spent(hold, tonumber(ARGV[2 + i]), is_held)
end
return spent
