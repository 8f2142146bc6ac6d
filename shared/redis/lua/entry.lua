-- The value of a field of an entry, or of any flat list of names and values; nil if the name is missing.
local function field(fields, name)
  for i = 1, #fields, 2 do
    if fields[i] == name then
      return fields[i + 1]
    end
  end
end

-- The traceparent of a stream entry and the id of its message's author; '' for either of them if it is missing.
local function origin_of(stream, entry)
  local found = redis.call('XRANGE', stream, entry, entry)
  local fields = found[1] and found[1][2] or {}
  local is_json, message = pcall(cjson.decode, field(fields, 'message') or '')
  local author = is_json and type(message) == 'table' and type(message.from) == 'table' and tonumber(message.from.id)
  return field(fields, 'traceparent') or '', author and string.format('%.0f', author) or ''
end

-- A copy of an entry's fields, with `new_message` in place of its message. If `new_message` is false, the message stays.
local function as_edited(fields, new_message)
  local copy = {}
  for i = 1, #fields, 2 do
    copy[i], copy[i + 1] = fields[i], new_message and fields[i] == 'message' and new_message or fields[i + 1]
  end
  return copy
end
