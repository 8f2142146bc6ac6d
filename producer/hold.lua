-- Takes the lease if nobody has it, or renews it for whoever has it.
-- KEYS  1 poller:<bot>
-- ARGV  1 owner   2 ms that it lasts from now
-- Reply 1 when it is the owner's now, 0 when another has it.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 1
end
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  return 1
end
return 0
