-- Gives the lease back, if it is still the owner's.
-- KEYS  1 poller:<bot>
-- ARGV  1 owner
-- Reply 1 when it was, else 0.
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
