-- Takes the lease if no process has it; renews or releases the calling process's own lease. Another process's lease stays.
-- KEYS  1 poller:<bot>
-- ARGV  1 the calling process   2 ms that the lease lasts from now, 0 to release it
-- Reply the process that has the lease; after a release, the calling process
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then
  return holder
end
if ARGV[2] == '0' then
  redis.call('DEL', KEYS[1])
else
  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
end
return ARGV[1]
