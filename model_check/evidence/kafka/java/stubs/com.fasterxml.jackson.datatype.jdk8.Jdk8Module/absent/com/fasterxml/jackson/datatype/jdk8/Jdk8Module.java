package com.fasterxml.jackson.datatype.jdk8;

import com.fasterxml.jackson.databind.module.SimpleModule;

/** Named by Kafka's generator, which writes no optional value. */
public class Jdk8Module extends SimpleModule {
    private static final long serialVersionUID = 1;
}
