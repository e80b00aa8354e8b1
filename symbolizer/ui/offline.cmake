# SPDX-License-Identifier: Apache-2.0
#
# cmake -DFOLDER=<symbolizer/ui> -DOUT=<offline.html> -DMODULES=<names> -P offline.cmake
#
# Writes the page as one file that needs no server and loads nothing: style sheet and modules are in the file. A module
# becomes a function that returns its exports; MODULES lists each module after those that it imports. The last line of the
# element "profile" is where the server writes the data.

# Everything is copied with quotes around it, because a ';' separates the items of a CMake list.
file(READ ${FOLDER}/index.html page)
file(READ ${FOLDER}/style.css style)
file(READ ${FOLDER}/icon.svg icon)

set(script "\"use strict\";\nconst modules = {};\n")
foreach(name ${MODULES})
	file(READ ${FOLDER}/${name} source)
	set(exported "")
	string(REGEX MATCHALL "\nexport (async function|function|class|const|let) [A-Za-z_0-9]+" matches "${source}")
	foreach(match ${matches})
		string(REGEX REPLACE "^.* " "" symbol "${match}")
		string(APPEND exported "${symbol}, ")
	endforeach()
	string(REGEX REPLACE "\nexport " "\n" source "${source}")
	string(REPLACE "\"./api.js\"" "\"./offline_api.js\"" source "${source}")
	string(REGEX REPLACE "\nimport ({[^}]*}) from \"\\./([a-z_]+)\\.js\"" "\nconst \\1 = modules.\\2" source "${source}")
	string(REPLACE ".js" "" module "${name}")
	string(APPEND script "\nmodules.${module} = (() => {\n${source}\nreturn { ${exported}};\n})();\n")
endforeach()

string(REGEX REPLACE "<link rel=\"(icon|stylesheet|modulepreload)\"[^>]*>\n" "" page "${page}")
string(REGEX REPLACE "<script type=\"module\"[^>]*></script>\n" "<style>\n@STYLE@</style>\n" page "${page}")
string(REGEX REPLACE "content=\"default-src[^\"]*\""
	"content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\""
	page "${page}")
string(REGEX REPLACE "<img src=\"icon.svg\"[^>]*>" "@ICON@" page "${page}")
string(REPLACE "</body>" "<script type=\"application/json\" id=\"profile\">\n@PROFILE@</script>\n<script>\n@SCRIPT@</script>\n</body>" page "${page}")
string(REPLACE "<svg " "<svg width=\"20\" height=\"20\" aria-hidden=\"true\" " icon "${icon}")
string(REPLACE "@ICON@" "${icon}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
file(WRITE ${OUT} "${page}")
