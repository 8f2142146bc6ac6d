-- Releases the lease, if it is still the owner's.
-- KEYS  1 poller:<bot>
-- ARGV  1 owner
-- Reply 1 when it was, else 0.
local held = redis.call('GET', KEYS[1])
if held and string.find(held, ARGV[1], 1, true) then
  return redis.call('DEL', KEYS[1])
end
return 0
