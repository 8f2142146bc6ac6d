-- Runs the commands that erase a chat's data, if the chat has no unanswered messages.
-- KEYS  1 lane   2 command lane   3 desk lane   4 absent: never exists; defers the script while the cluster moves the shard
-- ARGV  each command as: number of words, words…
-- Reply the number of unanswered messages; above 0 nothing changes
local unanswered = redis.call('LLEN', KEYS[1]) + redis.call('LLEN', KEYS[2]) + redis.call('LLEN', KEYS[3])
local at = 1
while unanswered == 0 and at <= #ARGV do
  local words = tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 1, at + words))
  at = at + words + 1
end
return unanswered
