-- Takes the lease if it is free, if the owner has it, or if its holder was seen to be gone. Its time then starts anew.
-- KEYS  1 poller:<bot>
-- ARGV  1 owner   2 what the key says of the owner, which names it   3 ms that it lasts from now
--       4 what the key said when its holder was seen to be gone, or ''
-- Reply what the key says now: argument 2 when the lease is the owner's.
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[4] and not string.find(held, ARGV[1], 1, true) then
  return held
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return ARGV[2]
