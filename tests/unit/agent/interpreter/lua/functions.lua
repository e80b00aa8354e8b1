-- SPDX-License-Identifier: Apache-2.0
-- Prints for each function: name, address, number of lines, and the lines that have instructions; then waits for the end of its input.

local function upvalue(a)
	local b = a

	return b
end

function global(a)


	return a + 1
end

local shop = {}

function shop.field(a) return a end

function shop:method(a)
	if a then
		a = a + 1
	end
	for i = 1, 3 do
		a = a + i
	end
	return a
end

local function caller(parameter)
	local variable = shop.field
	upvalue(1)
	global(2 and 3 or 4)
	shop.field(5, upvalue(6))
	shop:method(7)
	variable(8)
	parameter(9)
	global({ 10, 11 }, parameter == 12, parameter and 13 or 14, function() return variable end)
	local _ = (parameter or global)(15)
	if shop.field then
		shop[parameter](16)
	end
	return shop.field
end

-- The called function is in register 0, as are the upvalues of a new closure in 5.1.
local function first()
	global(function() return upvalue end, { 1, 2 })
end

-- Lines that are further apart than a byte of 5.4 says.
local far = assert((loadstring or load)("local a = ...\n" .. ("\n"):rep(300) .. "a = 1\n" .. ("a = a + 1\n"):rep(300) .. "return a", "@far.lua"))
local evaluated = assert((loadstring or load)("return 1\nand 2"))

-- An instruction has no room for the number of the constant "method".
local constants = {}
for i = 1, 300 do
	constants[i] = '"c' .. i .. '"'
end
local many = assert((loadstring or load)("local o = ...; local t = { " .. table.concat(constants, ", ") .. " }; o:method()", "@many.lua"))
local main = debug.getinfo(1, "f").func

for _, item in ipairs({ { "upvalue", upvalue }, { "global", global }, { "field", shop.field }, { "method", shop.method }, { "caller", caller },
	{ "first", first }, { "many", many }, { "far", far }, { "evaluated", evaluated }, { "main", main } }) do
	local lines = {}
	for line in pairs(debug.getinfo(item[2], "L").activelines) do
		lines[#lines + 1] = line
	end
	table.sort(lines)
	io.write(item[1], " ", tostring(item[2]):match("0x(%x+)"), " ", #lines, " ", table.concat(lines, " "), "\n")
end
io.write("text ", tostring(shop):match("0x(%x+)"), " 0\n")
io.flush()
io.read()
