# Installation.
install(TARGETS holdfast_static holdfast_shared EXPORT holdfast)
install(FILES include/holdfast.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/holdfast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN *.hpp)
if(TARGET holdfast)
    install(TARGETS holdfast ${HF_PROGRAMS})
endif()

# pkg-config.  Written at installation, because `cmake --install --prefix` chooses the prefix.
list(TRANSFORM HF_STORE_LINKS PREPEND "-l" OUTPUT_VARIABLE pc_libs)
list(JOIN pc_libs " " pc_libs)
foreach(folder IN ITEMS LIBDIR INCLUDEDIR)
    if(IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
        set(pc_${folder} "${CMAKE_INSTALL_${folder}}")
    else()
        set(pc_${folder} "\${prefix}/${CMAKE_INSTALL_${folder}}")
    endif()
endforeach()
set(prefix @prefix@) # for the second time
configure_file(cmake/holdfast.pc.in holdfast.pc.in @ONLY)
install(CODE "
    file(REAL_PATH \"\${CMAKE_INSTALL_PREFIX}\" prefix EXPAND_TILDE)
    configure_file(${PROJECT_BINARY_DIR}/holdfast.pc.in ${PROJECT_BINARY_DIR}/holdfast.pc @ONLY)")
install(FILES ${PROJECT_BINARY_DIR}/holdfast.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# find_package(holdfast): targets holdfast::shared, also as holdfast::holdfast, and holdfast::static
include(CMakePackageConfigHelpers)
set(config_folder ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
set(config_packages "")
foreach(package IN LISTS HF_STORE_PACKAGES)
    string(APPEND config_packages "find_dependency(${package})\n")
endforeach()
configure_package_config_file(cmake/holdfastConfig.cmake.in holdfastConfig.cmake
    INSTALL_DESTINATION ${config_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(holdfastConfigVersion.cmake
    COMPATIBILITY ${compatibility})
install(EXPORT holdfast NAMESPACE holdfast:: DESTINATION ${config_folder}
    FILE holdfastTargets.cmake)
install(FILES ${PROJECT_BINARY_DIR}/holdfastConfig.cmake
    ${PROJECT_BINARY_DIR}/holdfastConfigVersion.cmake DESTINATION ${config_folder})

file(GLOB pages CONFIGURE_DEPENDS man/*.1)
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# The manual of the library, made from its header.
set(man3 ${PROJECT_BINARY_DIR}/man3)
file(GLOB man3_inputs CONFIGURE_DEPENDS tools/man3* examples/*.c)
add_custom_command(OUTPUT ${man3}/libholdfast.3
    COMMAND ${PROJECT_SOURCE_DIR}/tools/man3 ${man3}
    DEPENDS include/holdfast.h man/holdfast.1 ${man3_inputs} VERBATIM)
add_custom_target(man3 ALL DEPENDS ${man3}/libholdfast.3)
install(DIRECTORY ${man3} DESTINATION ${CMAKE_INSTALL_MANDIR} FILES_MATCHING PATTERN *.3)

# Completions: the command writes them from its own table of options.
if(TARGET holdfast AND NOT HF_SANITIZE)
    set(completions "")
    function(hf_completion shell folder name)
        set(file ${PROJECT_BINARY_DIR}/completions/${shell}/${name})
        add_custom_command(OUTPUT ${file}
            COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/completions/${shell}
            COMMAND holdfast completion ${shell} > ${file}
            DEPENDS holdfast VERBATIM)
        install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
        set(completions ${completions} ${file} PARENT_SCOPE)
    endfunction()
    hf_completion(bash bash-completion/completions holdfast)
    hf_completion(zsh zsh/site-functions _holdfast)
    hf_completion(fish fish/vendor_completions.d holdfast.fish)
    add_custom_target(completions ALL DEPENDS ${completions})
endif()

install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS)
