-- Takes the lease if it is free, or renews it if the process has it. Its time then starts anew; 0 releases it.
-- KEYS  1 poller:<bot>
-- ARGV  1 the process   2 ms that it lasts from now
-- Reply the process that has it now, or had it until it was released.
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
