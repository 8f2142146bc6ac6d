-- Lets a supergroup go on with the conversation of the group that it was, once. While messages wait under the old id
-- nothing is done: the refusal of an answer to one of them does it, in the turn that has the conversation.
-- KEYS  1 lane of the group   2 chat of the group   3 chat of the supergroup
-- ARGV  1 the group   2 the supergroup
-- Reply 1, or 0 where messages wait or it was done before
if redis.call('LLEN', KEYS[1]) > 0 or redis.call('HEXISTS', KEYS[2], 'movedTo') == 1 then
  return 0
end
local session = redis.call('HGET', KEYS[2], 'session')
if session then
  redis.call('HSETNX', KEYS[3], 'session', session)
end
redis.call('HSET', KEYS[3], 'movedFrom', ARGV[1])
redis.call('HSET', KEYS[2], 'movedTo', ARGV[2])
return 1
